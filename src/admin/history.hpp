// The last half hour in steps of five seconds, so that a page that is opened now shows what led
// here. Fixed memory. Not thread-safe: belongs to the admin loop.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <penstock/clock.hpp>

#include "telemetry/metrics.hpp"

namespace penstock::admin {

class history {
 public:
  static constexpr std::size_t steps_max = 360;
  static constexpr duration step = std::chrono::seconds{5};

  struct sample {
    instant at{};  // the end of the step
    duration length{};
    std::uint64_t allowed = 0, delayed = 0, refused = 0, degraded = 0, other = 0;
    std::uint64_t store_errors = 0;
    std::int64_t check_p50_ns = 0, check_p99_ns = 0;  // upper bounds; 0: no check
  };

  // Takes what was counted since the last call. The first call only sets the beginning.
  void add(const telemetry::totals& now_counted, instant now);

  // The oldest first.
  [[nodiscard]] std::vector<sample> samples() const;

 private:
  telemetry::totals before_;
  instant before_at_{};
  bool begun_ = false;
  std::vector<sample> ring_;
  std::size_t next_ = 0;
};

}  // namespace penstock::admin
