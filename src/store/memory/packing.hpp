// The state of a token bucket, a fixed window or a sliding counter in one 64-bit word, when it
// fits.
//
// How a quota's states are packed depends on that quota alone, so a word can be read again with the
// quota under which it was written. What does not fit (bursts of windows, queues, counts or times
// beyond the word) is kept whole elsewhere: `pack` says so, nothing is ever rounded or cut.
// Immutable after construction, so thread-safe.
#pragma once

#include <bit>
#include <cstdint>

#include "base/checked.hpp"
#include "quota/compiled.hpp"

namespace penstock::store {

class packing {
 public:
  explicit packing(const quotas::compiled& q) noexcept : rate_tag_(q.rate_tag), den_(q.unit_den) {
    switch (q.source.kind) {
      case algorithm::token_bucket:
        // A stored time is at most 2^53 us of now plus the time to full, 2^52 us, in 1/den ticks.
        if (den_ <= (INT64_MAX / 2) / (exact_max * 3 / 2 / q.tick_us)) shape_ = shape::time;
        bucket_ = shape_ == shape::time && q.capacity > 0;
        return;
      case algorithm::fixed_window:
        if (q.burst == 0) set_windows(q, shape::one_count, 1);
        return;
      case algorithm::sliding_window_counter:
        if (q.burst == 0) set_windows(q, shape::two_counts, 2);
        return;
      case algorithm::sliding_window_log:
      case algorithm::leaky_bucket:
        return;
    }
  }

  // Whether every state that the quota itself makes fits. One that was made under an older, larger
  // limit may still not.
  [[nodiscard]] bool fits() const noexcept { return shape_ != shape::none; }

  // A token bucket's word: its stored time in 1/unit_den ticks.
  [[nodiscard]] bool is_bucket() const noexcept { return bucket_; }

  // False: the state does not fit; `word` is untouched. Precondition: s.present.
  [[nodiscard]] bool pack(const quotas::state& s, std::uint64_t& word) const noexcept {
    switch (shape_) {
      case shape::time: {
        if (s.w[2] != rate_tag_ || s.w[3] != den_ || s.w[4] != 0) return false;
        if (s.w[1] < 0 || s.w[1] >= den_) return false;
        std::int64_t time = 0;
        if (__builtin_mul_overflow(s.w[0], den_, &time)) return false;
        if (__builtin_add_overflow(time, s.w[1], &time)) return false;
        word = static_cast<std::uint64_t>(time);
        return true;
      }
      case shape::one_count:
        if (!in_width(s.w[0], index_bits_) || !in_width(s.w[1], count_bits_)) return false;
        if ((s.w[2] | s.w[3] | s.w[4]) != 0) return false;
        word = (bits(s.w[0]) << count_bits_) | bits(s.w[1]);
        return true;
      case shape::two_counts:
        if (!in_width(s.w[0], index_bits_) || !in_width(s.w[1], count_bits_)) return false;
        if (!in_width(s.w[2], count_bits_) || (s.w[3] | s.w[4]) != 0) return false;
        word = (bits(s.w[0]) << (2 * count_bits_)) | (bits(s.w[1]) << count_bits_) | bits(s.w[2]);
        return true;
      case shape::none:
        return false;
    }
    return false;
  }

  // Precondition: the word was made by pack() of an equal quota.
  [[nodiscard]] quotas::state unpack(std::uint64_t word) const noexcept {
    const auto mask = (std::uint64_t{1} << count_bits_) - 1;
    switch (shape_) {
      case shape::time: {
        const auto time = static_cast<std::int64_t>(word);
        const std::int64_t ticks = den_ == 1 ? time : floor_div(time, den_);
        return {.present = true, .w = {ticks, time - ticks * den_, rate_tag_, den_, 0}};
      }
      case shape::one_count:
        return {.present = true, .w = {value(word >> count_bits_), value(word & mask), 0, 0, 0}};
      case shape::two_counts:
        return {.present = true,
                .w = {value(word >> (2 * count_bits_)), value((word >> count_bits_) & mask),
                      value(word & mask), 0, 0}};
      case shape::none:
        break;
    }
    return {};
  }

 private:
  enum class shape : std::uint8_t { none, time, one_count, two_counts };

  static std::uint64_t bits(std::int64_t v) noexcept { return static_cast<std::uint64_t>(v); }
  static std::int64_t value(std::uint64_t v) noexcept { return static_cast<std::int64_t>(v); }
  static bool in_width(std::int64_t v, unsigned width) noexcept { return bits(v) >> width == 0; }

  // The index gets the bits that last for the 2^53 us for which time runs, one window ahead
  // included; the counts share the rest. It depends on the period only, so every rate of one limit
  // packs alike.
  void set_windows(const quotas::compiled& q, shape s, unsigned counts) noexcept {
    const std::int64_t last_index = exact_max / (q.period * q.tick_us) + 2;
    index_bits_ = static_cast<unsigned>(std::bit_width(bits(last_index)));
    count_bits_ = (64 - index_bits_) / counts;
    if (in_width(q.capacity, count_bits_)) shape_ = s;
  }

  std::int64_t rate_tag_;
  std::int64_t den_;
  unsigned index_bits_ = 0;
  unsigned count_bits_ = 1;
  shape shape_ = shape::none;
  bool bucket_ = false;
};

}  // namespace penstock::store
