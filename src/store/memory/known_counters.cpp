#include "store/memory/known_counters.hpp"

#include <algorithm>

namespace penstock::store {
namespace {

bool same_quota(const quotas::compiled& a, const quotas::compiled& b) noexcept {
  const auto differs = (a.tick_us ^ b.tick_us) | (a.period ^ b.period) | (a.capacity ^ b.capacity) |
                       (a.rate_tag ^ b.rate_tag) | (a.unit_den ^ b.unit_den) | (a.full ^ b.full) |
                       (a.burst ^ b.burst) | (a.burst_period ^ b.burst_period) |
                       (a.queue ^ b.queue) | (a.undelayed ^ b.undelayed) |
                       (a.max_delay ^ b.max_delay) | (a.max_wait ^ b.max_wait);
  return differs == 0 && a.source.kind == b.source.kind;
}

}  // namespace

const known_quota* known_counters::intern(const quotas::compiled& q) {
  const auto found = std::find_if(quotas_.begin(), quotas_.end(),
                                  [&](const auto& known) { return same_quota(known->quota, q); });
  if (found != quotas_.end()) return found->get();
  const unsigned tag = next_tag_ <= last_quota_tag ? next_tag_++ : 0;
  quotas_.push_back(std::make_unique<known_quota>(q, tag));
  if (tag != 0) by_tag_[tag].store(quotas_.back().get(), std::memory_order_release);
  return quotas_.back().get();
}

const known_counter& known_counters::find_or_add(const counter& what) {
  const std::lock_guard lock(mutex_);
  auto& of_id = counters_[what.id];
  auto found = std::find_if(of_id.begin(), of_id.end(),
                            [&](const auto& k) { return same_quota(k->quota->quota, what.quota); });
  if (found == of_id.end()) {
    // The kind is part of what is hashed: a log and a plain state never meet under one name.
    const std::string name = what.id + static_cast<char>(what.quota.source.kind);
    of_id.push_back(std::make_unique<known_counter>(
        known_counter{what.id, siphash128<2, 4>(secret_, name), intern(what.quota)}));
    found = of_id.end() - 1;
  }
  const known_counter* known = found->get();
  const std::size_t i = place_of(what.serial.value());
  // Of the two places the one whose object is older: it is the one that may be gone.
  const std::size_t older = cache_[i].whose() <= cache_[i ^ 1U].whose() ? i : i ^ 1U;
  cache_[older].write(what.serial.value(), known);
  return *known;
}

}  // namespace penstock::store
