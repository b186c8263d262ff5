// Time as the library sees it: microseconds since the Unix epoch, UTC, signed 64 bit. Nothing in
// the library reads a clock on its own account: every call that depends on time takes an instant,
// so a test can play a year in a millisecond.
#pragma once

#include <chrono>
#include <cstdint>

namespace penstock {

using duration = std::chrono::duration<std::int64_t, std::micro>;
using instant = std::chrono::time_point<std::chrono::system_clock, duration>;

// The process clock for callers that have no better one: wall time read once when the object is
// made, advanced by the monotonic clock, so a step of the host's clock never reaches a limit.
// Thread-safe: immutable after construction.
class steady_wall_clock {
 public:
  steady_wall_clock()
      : wall_(std::chrono::time_point_cast<duration>(std::chrono::system_clock::now())),
        steady_(std::chrono::steady_clock::now()) {}

  [[nodiscard]] instant now() const {
    return wall_ + std::chrono::duration_cast<duration>(std::chrono::steady_clock::now() - steady_);
  }

 private:
  instant wall_;
  std::chrono::steady_clock::time_point steady_;
};

// A clock that stands still until told otherwise, for tests of code that embeds the library.
// Not thread-safe.
class manual_clock {
 public:
  explicit manual_clock(instant start = instant{}) : now_(start) {}
  [[nodiscard]] instant now() const { return now_; }
  void advance(duration d) { now_ += d; }  // a negative step plays a clock that goes back
  void set(instant t) { now_ = t; }

 private:
  instant now_;
};

}  // namespace penstock
