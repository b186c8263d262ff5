#include "service/refusal_memory.hpp"

#include <algorithm>

namespace penstock::service {

bool refusal_memory::may_remember(const charge& c) noexcept {
  return c.as == role::enforce && c.cost > 0 && !c.only_check && !c.what->count_denied &&
         c.what->quota.source.kind != algorithm::leaky_bucket;
}

refusal_memory::entry& refusal_memory::place_of(const charge& c) {
  const auto h = siphash128(secret_, c.key);
  const auto mixed = h.lo ^ (reinterpret_cast<std::uintptr_t>(c.what) * 0x9e3779b97f4a7c15ULL) ^
                     static_cast<std::uint64_t>(c.cost);
  return entries_[mixed % places];
}

void refusal_memory::remember(const charge& c, const verdict& refused, instant now) {
  const duration wait = refused.never ? longest : std::min(refused.retry_after, longest);
  auto& e = place_of(c);
  e.what = c.what;
  e.key.assign(c.key);
  e.cost = c.cost;
  e.at = now;
  e.until = now + wait;
  e.refused = refused;
}

const verdict* refusal_memory::recall(const charge& c, instant now) {
  const auto& e = place_of(c);
  if (e.what != c.what || e.cost != c.cost || now >= e.until || now < e.at || e.key != c.key) {
    return nullptr;
  }
  const duration passed = now - e.at;
  const auto less = [passed](duration d) { return std::max(d - passed, duration{0}); };
  answer_ = e.refused;
  answer_.retry_after = less(answer_.retry_after);
  answer_.reset_after = less(answer_.reset_after);
  answer_.next_after = less(answer_.next_after);
  return &answer_;
}

void refusal_memory::clear() {
  for (auto& e : entries_) e.what = nullptr;
}

}  // namespace penstock::service
