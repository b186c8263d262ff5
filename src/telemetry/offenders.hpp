// Who asks most and who is refused most, over the last minute, ten minutes and hour: the report
// over all loops' key streams. Memory is bounded whatever the number of keys; every count comes
// with its bounds. Thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "telemetry/key_stream.hpp"

namespace penstock::telemetry {

enum class window : std::uint8_t { minute, ten_minutes, hour };
inline constexpr std::size_t windows = 3;

struct offender_report {
  std::vector<key_count> top;
  std::uint64_t total = 0;  // counted in the window, all keys together
  std::uint64_t floor = 0;  // most that a key outside `top`'s source can have: the stated error
  duration covered{};       // how much time the figures stand for; a little more than the window
};

class offenders {
 public:
  // Keys kept for each stretch of time; a floor in the report says what that costs.
  static constexpr std::size_t keys_max = 512;

  // Collects finished sketches. To be called at least every ten seconds; reports call it too.
  void collect(std::span<key_stream* const> streams, instant now);

  // The `n` first keys. `streams` as for collect.
  [[nodiscard]] offender_report report(std::span<key_stream* const> streams, ranking r, window w,
                                       std::size_t n, instant now);

 private:
  // A level keeps summaries of stretches of `spans` sketches each, the latest last.
  struct stretch {
    std::int64_t number = 0;
    key_summary keys;
  };
  using level = std::deque<stretch>;

  void add(ranking r, std::int64_t span, const key_summary& keys, std::int64_t now_span);

  std::mutex mutex_;
  std::array<std::array<level, windows>, rankings> levels_;
};

}  // namespace penstock::telemetry
