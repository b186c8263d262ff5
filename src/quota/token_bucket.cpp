// Token bucket in GCRA form: the bucket holds `capacity` units and is as empty as the stored time
// is ahead. docs/algorithms.md, "Token bucket".
#include <algorithm>

#include "quota/algorithms.hpp"
#include "quota/bucket.hpp"
#include "quota/schedule.hpp"

namespace penstock::quotas::token_bucket {

outcome take(const compiled& q, const state& prior, std::int64_t now, std::int64_t cost) noexcept {
  outcome out{prior, false, {}};
  const spent s = decide(q, load(q, prior, now), cost, out.result);
  out.changed = s.changed;
  if (s.changed) out.next = store_distance(q, now, s.ahead, 0);
  return out;
}

outcome refund(const compiled& q, const state& prior, std::int64_t now,
               std::int64_t cost) noexcept {
  const distance d = load(q, prior, now);
  const std::int64_t back = std::min(cost, q.capacity) * q.unit_num;
  const std::int64_t ahead = std::max<std::int64_t>(0, d.ahead - back);
  outcome out{prior, d.ahead > 0 && cost > 0, {}};
  report(q, ahead, out.result);
  if (out.changed) out.next = store_distance(q, now, ahead, 0);
  out.result.admitted = true;
  return out;
}

}  // namespace penstock::quotas::token_bucket
