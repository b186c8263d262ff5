// Leaky bucket as a queue: the stored time is when the last admitted unit has left. A request waits
// for its turn, `wait`; its first `undelayed` units of waiting are waived (as nginx's delay=), the
// rest is imposed as the delay. docs/algorithms.md, "Leaky bucket".
#include <algorithm>

#include "quota/algorithms.hpp"
#include "quota/schedule.hpp"

namespace penstock::quotas::leaky_bucket {
namespace {

// `remaining` counts the requests of one unit that the queue still takes at this moment: the turn
// of the r-th of them comes after ahead + (r - 1) units, which must be within max_wait.
verdict report(const compiled& q, std::int64_t ahead) noexcept {
  verdict v;
  v.limit = q.capacity;
  if (ahead <= q.max_wait) v.remaining = (q.max_wait - ahead) / q.unit_num + 1;
  v.reset_after = as_duration(q, ticks_until(q, ahead, 0));
  if (v.remaining < q.capacity) {
    v.next_after = as_duration(q, ticks_until(q, ahead, q.max_wait - v.remaining * q.unit_num));
  }
  return v;
}

std::int64_t mark_admission(const state& prior, std::int64_t now) noexcept {
  const bool shared = prior.present && (prior.w[4] == now || prior.w[4] == ~now);
  return shared ? ~now : now;
}

}  // namespace

outcome take(const compiled& q, const state& prior, std::int64_t now, std::int64_t cost) noexcept {
  const distance d = load(q, prior, now);
  if (cost == 0 || (cost <= q.capacity && d.ahead <= q.max_wait)) {
    const std::int64_t ahead = d.ahead + cost * q.unit_num;
    outcome out{prior, cost > 0, report(q, ahead)};
    if (out.changed) {
      out.next = store_distance(q, now, ahead, d.moved ? ~now : mark_admission(prior, now));
      out.result.delay = as_duration(q, ticks_until(q, d.ahead, q.undelayed * q.unit_num));
    }
    out.result.admitted = true;
    return out;
  }
  outcome out{prior, d.moved, report(q, d.ahead)};
  if (out.changed) out.next = store_distance(q, now, d.ahead, ~now);
  if (cost > q.capacity) {
    out.result.never = true;
  } else {
    out.result.retry_after = as_duration(q, ticks_until(q, d.ahead, q.max_wait));
  }
  return out;
}

outcome refund(const compiled& q, const state& prior, std::int64_t now, std::int64_t charged_at,
               std::int64_t cost) noexcept {
  const distance d = load(q, prior, now);
  const bool is_last = prior.present && prior.w[4] == charged_at && !d.moved;
  const std::int64_t back = is_last ? std::min(cost, q.capacity) * q.unit_num : 0;
  const std::int64_t ahead = std::max<std::int64_t>(0, d.ahead - back);
  outcome out{prior, ahead != d.ahead, report(q, ahead)};
  if (out.changed) out.next = store_distance(q, now, ahead, ~charged_at);
  out.result.admitted = true;
  return out;
}

}  // namespace penstock::quotas::leaky_bucket
