// What one process of a fleet may admit by itself while the shared store is away: for each counter
// a counter with the share max(1, floor(limit / fleet_size)) of it. Made on first use, kept until
// the policy changes. Not thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "quota/charge.hpp"

namespace penstock::service {

class local_shares {
 public:
  explicit local_shares(std::int64_t fleet_size) : fleet_size_(fleet_size < 1 ? 1 : fleet_size) {}

  // nullptr when the share cannot be counted exactly; the caller then refuses. The counter lives
  // until clear().
  const counter* of(const counter& whole);
  void clear() { shares_.clear(); }

 private:
  std::int64_t fleet_size_;
  std::unordered_map<const counter*, std::unique_ptr<counter>> shares_;
};

}  // namespace penstock::service
