#include "service/local_shares.hpp"

#include <algorithm>

namespace penstock::service {

const counter* local_shares::of(const counter& whole) {
  auto [at, fresh] = shares_.try_emplace(&whole);
  if (!fresh) return at->second.get();

  const auto share = [this](std::int64_t n) {
    return n == 0 ? 0 : std::max<std::int64_t>(1, n / fleet_size_);
  };
  quota q = whole.quota.source;
  q.count = share(q.count);
  if (q.burst) q.burst = share(*q.burst);
  // A queue's length is a promise about waiting, not about the rate: the slower share drains less
  // of it.
  q.queue = q.queue / fleet_size_;
  q.undelayed = std::min(q.undelayed, q.queue);
  auto compiled = quotas::compile(q);
  if (compiled) {
    at->second =
        std::make_unique<counter>(counter{whole.id + ":local", *compiled, whole.count_denied});
  }
  return at->second.get();
}

}  // namespace penstock::service
