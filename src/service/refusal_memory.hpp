// What a remote store refused a moment ago, so that an attack costs it at most one call per refused
// key and second. A refusal is remembered for its wait, at most a second, by (limit, key, cost),
// and becomes shorter as time goes by. Bounded: an entry makes room for the next one of its place.
// One per event loop; not thread-safe. Does not allocate once warm.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/clock.hpp>
#include <penstock/decision.hpp>

#include "base/siphash.hpp"
#include "quota/charge.hpp"

namespace penstock::service {

class refusal_memory {
 public:
  static constexpr std::size_t places = 4096;
  static constexpr duration longest = std::chrono::seconds{1};

  // `secret` keeps clients from aiming at each other's places.
  explicit refusal_memory(const hash128& secret) : secret_(secret), entries_(places) {}

  // Whether refusals of this charge may be remembered: not where a refusal itself is counted, and
  // not where what was charged can be given back.
  [[nodiscard]] static bool may_remember(const charge& c) noexcept;

  // `refused` was the answer at `now` on this process's clock.
  void remember(const charge& c, const verdict& refused, instant now);

  // The verdict as it would be now; nullptr: nothing is remembered. Valid until the next call.
  [[nodiscard]] const verdict* recall(const charge& c, instant now);

  // Counters are about to be replaced.
  void clear();

 private:
  struct entry {
    const counter* what = nullptr;
    std::string key;
    std::int64_t cost = 0;
    instant at{};
    instant until{};
    verdict refused;
  };
  entry& place_of(const charge& c);

  hash128 secret_;
  std::vector<entry> entries_;
  verdict answer_;
};

}  // namespace penstock::service
