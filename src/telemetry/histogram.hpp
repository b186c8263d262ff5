// Durations in fixed buckets. One writer, any number of readers, like cell; the sum of all loops'
// histograms is what a scrape shows. Bounds sit on the thresholds that alerts ask about, because a
// quantile is exact only there.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "telemetry/cell.hpp"

namespace penstock::telemetry {

using nanoseconds = std::chrono::nanoseconds;

inline constexpr std::size_t buckets_max = 16;

// Values of one or several histograms with the same bounds.
struct histogram_sum {
  std::span<const nanoseconds> bounds;
  std::array<std::uint64_t, buckets_max + 1> counts{};  // per bucket, not cumulative; then the rest
  std::uint64_t sum_ns = 0;

  [[nodiscard]] std::uint64_t count() const noexcept;
  // The upper bound of the bucket that holds quantile `per_mille` of 1000, rounded up; 0 when
  // empty, the largest bound when it lies beyond it.
  [[nodiscard]] nanoseconds quantile(int per_mille) const noexcept;
};

class histogram {
 public:
  // `bounds`: increasing, inclusive, at most buckets_max, in static storage.
  explicit histogram(std::span<const nanoseconds> bounds) noexcept : bounds_(bounds) {}

  // Only from the owning thread. Negative values count as 0.
  void observe(nanoseconds value) noexcept {
    std::size_t i = 0;
    while (i < bounds_.size() && value > bounds_[i]) ++i;
    counts_[i].add();
    if (value.count() > 0) sum_ns_.add(static_cast<std::uint64_t>(value.count()));
  }

  // From any thread. `out` must be empty or of the same bounds.
  void add_to(histogram_sum& out) const noexcept;

 private:
  std::span<const nanoseconds> bounds_;
  std::array<cell, buckets_max + 1> counts_{};
  cell sum_ns_;
};

// Checks as the field expects them: 10 us, 50 us, 0.1, 0.5, 1, 5, 10 ms.
[[nodiscard]] std::span<const nanoseconds> check_bounds() noexcept;
// Round trips to a store, and answers of an upstream: 0.25 ms … 10 s.
[[nodiscard]] std::span<const nanoseconds> network_bounds() noexcept;
// Delays that a queue imposes: 10 ms … 10 s.
[[nodiscard]] std::span<const nanoseconds> delay_bounds() noexcept;

}  // namespace penstock::telemetry
