// A counter with one writer and any number of readers. A plain load and store instead of an atomic
// addition: the writer's thread owns the cache line, so counting costs what an ordinary ++ costs.
// Readers on other threads see a value that was true a moment ago, and never a torn one.
#pragma once

#include <atomic>
#include <cstdint>

namespace penstock {

class cell {
 public:
  // Only from the thread that owns the cell, or under the lock that guards it. Wraps at 2^64.
  void add(std::uint64_t n = 1) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void operator++() noexcept { add(1); }
  void operator--() noexcept { add(~std::uint64_t{0}); }
  // From any thread.
  [[nodiscard]] std::uint64_t get() const noexcept {
    return value_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<std::uint64_t> value_{0};
};

}  // namespace penstock
