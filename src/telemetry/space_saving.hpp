// The Space-Saving sketch: the most frequent keys of a stream in fixed memory. With k places and n
// additions a key that was added more than n/k times is among them, and a count is too high by at
// most n/k. Allocates in the constructor only. Not thread-safe.
// Source: Metwally et al., "Efficient computation of frequent and top-k elements in data streams".
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/key_summary.hpp"

namespace penstock::telemetry {

class space_saving {
 public:
  // `places`: 1..16,384.
  explicit space_saving(std::size_t places);

  // Counts one occurrence. `id` must be a good hash of (limit, key); the text is for people.
  void add(std::uint64_t id, slot limit, std::string_view key) noexcept;

  void clear() noexcept;

  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }
  [[nodiscard]] key_summary summary() const;

 private:
  struct place {
    std::uint64_t id = 0;
    std::uint64_t count = 0;
    std::uint64_t error = 0;  // how much of `count` may belong to keys that stood here before
    slot limit = no_slot;
    std::uint16_t heap_at = 0;
    std::string key;
  };
  static constexpr std::uint16_t none = UINT16_MAX;

  [[nodiscard]] std::size_t bucket_of(std::uint64_t id) const noexcept;
  void unlink(std::uint64_t id) noexcept;
  void sift_down(std::size_t at) noexcept;
  void sift_up(std::size_t at) noexcept;
  void put(std::size_t at, std::uint16_t p) noexcept;

  std::size_t mask_;
  std::vector<place> places_;
  std::vector<std::uint16_t> heap_;     // places in use, the least count first
  std::vector<std::uint16_t> buckets_;  // id -> place: open addressing, at most half full
  std::size_t used_ = 0;
  std::uint64_t total_ = 0;
};

}  // namespace penstock::telemetry
