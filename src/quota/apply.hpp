// What stores build on take(): charging a refusal. Pure, no allocation.
#pragma once

#include <algorithm>
#include <cstdint>

#include "quota/compiled.hpp"

namespace penstock::quotas {

// For limits that count refused requests too: the request was refused, by this limit or by another,
// and is charged as far as it fits, min(cost, remaining). The verdict is that after the charge, and
// never admitted; its retry_after is when `cost` units pass if nothing else comes, 0 when they
// would now. Preconditions: those of take().
[[nodiscard]] inline outcome take_denied(const compiled& q, const state& prior, std::int64_t now,
                                         std::int64_t cost) noexcept {
  const verdict before = take(q, prior, now, 0).result;
  outcome out = take(q, prior, now, std::min(cost, before.remaining));
  const outcome again = take(q, out.next, now, cost);
  if (!out.changed && again.changed && !again.result.admitted) out.next = again.next;
  out.changed = out.changed || (again.changed && !again.result.admitted);
  out.result = take(q, out.next, now, 0).result;
  out.result.admitted = false;
  out.result.never = again.result.never;
  out.result.retry_after = again.result.retry_after;
  return out;
}

}  // namespace penstock::quotas
