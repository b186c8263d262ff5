// Which requests of one loop get a line in the access log, and the bound on how many. Nothing is
// measured or kept for a request while the log is off. Not thread-safe: one per loop.
#pragma once

#include <cstdint>
#include <string>

#include "gateway/options.hpp"
#include "telemetry/access_log.hpp"

namespace penstock::gateway {

class access_logger {
 public:
  // `ring` null: off. `lines_max`: of this loop, per second; 0: no bound.
  access_logger(const access_log_options& options, telemetry::access_log::ring* ring,
                std::uint64_t lines_max) noexcept
      : mode_(ring == nullptr ? access_log_mode::off : options.mode),
        sample_(options.sample),
        lines_max_(lines_max),
        ring_(ring) {}

  // Another choice of requests; a log that was not opened stays off.
  void change(const access_log_options& options, std::uint64_t lines_max) noexcept {
    mode_ = ring_ == nullptr ? access_log_mode::off : options.mode;
    sample_ = options.sample;
    lines_max_ = lines_max;
  }

  [[nodiscard]] bool on() const noexcept { return mode_ != access_log_mode::off; }

  // Once for each request. `second`: any clock's. A line above the bound is counted as dropped.
  [[nodiscard]] bool wants(bool refused, std::int64_t second) noexcept {
    if (mode_ == access_log_mode::off || (mode_ == access_log_mode::refused && !refused))
      return false;
    if (mode_ == access_log_mode::sampled) {
      if (++seen_ < sample_) return false;
      seen_ = 0;
    }
    if (lines_max_ == 0) return true;
    if (second != second_) {
      second_ = second;
      lines_ = 0;
    }
    if (++lines_ <= lines_max_) return true;
    ring_->drop();
    return false;
  }

  void put() noexcept { ring_->put(line); }

  std::string line;  // to be filled; keeps its capacity

 private:
  access_log_mode mode_;
  std::uint64_t sample_;
  std::uint64_t lines_max_;
  telemetry::access_log::ring* ring_;
  std::uint64_t seen_ = 0;
  std::uint64_t lines_ = 0;
  std::int64_t second_ = 0;
};

}  // namespace penstock::gateway
