// Which keys were seen most, as bounds: each listed key's true count lies in [at_least, at_most],
// and no key that is not listed has more than `floor`. Summaries of loops, of stretches of time and
// of processes merge into one that keeps these promises. Plain values.
// Source: Metwally et al., "Efficient computation of frequent and top-k elements in data streams"
// (2005); merging as in Agarwal et al., "Mergeable summaries" (2012).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "telemetry/limit_slots.hpp"

namespace penstock::telemetry {

struct key_count {
  std::uint64_t id = 0;  // hash of limit and key; what makes two entries the same
  slot limit = no_slot;
  std::string key;  // as stores name it, cut at key_text_max octets
  std::uint64_t at_least = 0;
  std::uint64_t at_most = 0;
};

inline constexpr std::size_t key_text_max = 160;

struct key_summary {
  std::vector<key_count> keys;  // no order; ids are unique
  std::uint64_t total = 0;      // of all keys together, exact
  std::uint64_t floor = 0;      // most that a key which is not listed can have

  // Adds `other`, then keeps the `keys_max` keys with the largest at_most.
  void merge(const key_summary& other, std::size_t keys_max);

  // The n keys with most, by at_least, then at_most, then id.
  [[nodiscard]] std::vector<key_count> top(std::size_t n) const;
};

}  // namespace penstock::telemetry
