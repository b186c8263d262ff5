// One loop's side of the offenders: counts the keys it sees in sketches of ten seconds each. The
// loop only ever adds; the report takes finished sketches away. The lock between them is held by
// the loop for one addition and by the report for one copy, so the loop practically never waits.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include <penstock/clock.hpp>

#include "base/siphash.hpp"
#include "telemetry/space_saving.hpp"

namespace penstock::telemetry {

enum class ranking : std::uint8_t { requests, refusals };
inline constexpr std::size_t rankings = 2;

inline constexpr duration sketch_span = std::chrono::seconds{10};
// A key with more than 1/256 of ten seconds' requests of a loop is always found.
inline constexpr std::size_t sketch_places = 256;

// The number of the ten seconds that hold `t`.
[[nodiscard]] constexpr std::int64_t span_of(instant t) noexcept {
  const std::int64_t us = t.time_since_epoch().count();
  return us >= 0 ? us / sketch_span.count() : -1;
}

class key_stream {
 public:
  // `secret` must be the same for all loops of a process, and unknown outside: who can make ids
  // collide can hide behind another key.
  explicit key_stream(const hash128& secret);

  // Counts one request (or refusal) of `key` under limit `l`. Only from the owning loop. A clock
  // that goes back counts into the current ten seconds.
  void add(ranking r, slot l, std::string_view key, instant now);

  struct finished {
    ranking by = ranking::requests;
    std::int64_t span = 0;
    key_summary keys;
  };
  // Takes away every sketch that ended before `now`. From any thread.
  [[nodiscard]] std::vector<finished> take_finished(instant now);

  // What the sketch in progress holds; its span is that of the latest addition. From any thread.
  [[nodiscard]] finished current(ranking r) const;

 private:
  // Finished sketches that wait to be taken: the report has to come within 20 seconds. What it
  // misses is dropped, the oldest first.
  static constexpr std::size_t waiting_max = 2;

  struct sketch {
    std::int64_t span = -1;
    space_saving keys{sketch_places};
  };
  // The current sketch and those that wait, as a ring.
  struct ring {
    std::array<sketch, waiting_max + 1> of;
    std::size_t current = 0;
  };

  void turn(ring& r, std::int64_t span);

  hash128 secret_;
  mutable std::mutex mutex_;
  std::array<ring, rankings> rings_;
};

}  // namespace penstock::telemetry
