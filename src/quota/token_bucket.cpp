// Token bucket in GCRA form: the bucket holds `capacity` units and is as empty as the stored time
// is ahead. docs/algorithms.md, "Token bucket".
#include <algorithm>

#include "quota/algorithms.hpp"
#include "quota/schedule.hpp"

namespace penstock::quotas::token_bucket {
namespace {

verdict report(const compiled& q, std::int64_t ahead) noexcept {
  verdict v;
  v.limit = q.capacity;
  v.remaining = (q.full - ahead) / q.unit_num;
  v.reset_after = as_duration(q, ticks_until(q, ahead, 0));
  if (v.remaining < q.capacity) {
    v.next_after =
        as_duration(q, ticks_until(q, ahead, (q.capacity - v.remaining - 1) * q.unit_num));
  }
  return v;
}

}  // namespace

outcome take(const compiled& q, const state& prior, std::int64_t now, std::int64_t cost) noexcept {
  const distance d = load(q, prior, now);
  if (cost <= q.capacity && cost * q.unit_num <= q.full - d.ahead) {
    const std::int64_t ahead = d.ahead + cost * q.unit_num;
    outcome out{prior, cost > 0, report(q, ahead)};
    if (out.changed) out.next = store_distance(q, now, ahead, 0);
    out.result.admitted = true;
    return out;
  }
  outcome out{prior, d.moved, report(q, d.ahead)};
  if (out.changed) out.next = store_distance(q, now, d.ahead, 0);
  if (cost > q.capacity) {
    out.result.never = true;
  } else {
    out.result.retry_after = as_duration(q, ticks_until(q, d.ahead, q.full - cost * q.unit_num));
  }
  return out;
}

outcome refund(const compiled& q, const state& prior, std::int64_t now,
               std::int64_t cost) noexcept {
  const distance d = load(q, prior, now);
  const std::int64_t back = std::min(cost, q.capacity) * q.unit_num;
  const std::int64_t ahead = std::max<std::int64_t>(0, d.ahead - back);
  outcome out{prior, d.ahead > 0 && cost > 0, report(q, ahead)};
  if (out.changed) out.next = store_distance(q, now, ahead, 0);
  out.result.admitted = true;
  return out;
}

}  // namespace penstock::quotas::token_bucket
