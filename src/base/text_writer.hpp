// Writes many short pieces behind a text: into a block on the stack first, so that the text itself
// grows once. Not thread-safe; the text must outlive the writer, which ends what it wrote.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace penstock {

// The largest integer of a structured field (RFC 9651 §3.3.1).
inline constexpr std::int64_t largest_field_integer = 999'999'999'999'999;

class text_writer {
 public:
  explicit text_writer(std::string& out) noexcept : out_(out) {}  // NOLINT: block_ stays raw
  text_writer(const text_writer&) = delete;
  text_writer& operator=(const text_writer&) = delete;
  ~text_writer() { flush(); }

  text_writer& text(std::string_view piece) {
    if (piece.size() > block_.size() - used_) {
      flush();
      if (piece.size() > block_.size()) {
        out_.append(piece);
        return *this;
      }
    }
    copy(block_.data() + used_, piece.data(), piece.size());
    used_ += piece.size();
    return *this;
  }

  // Decimal, of any size.
  text_writer& number(std::integral auto value) {
    constexpr std::size_t most_characters = 20;  // of -2^63 and of 2^64 - 1
    if (block_.size() - used_ < most_characters) flush();
    char* const at = block_.data() + used_;
    used_ += static_cast<std::size_t>(std::to_chars(at, at + most_characters, value).ptr - at);
    return *this;
  }

  text_writer& octet(char c) {
    if (used_ == block_.size()) flush();
    block_[used_++] = c;
    return *this;
  }

  // What was written so far is in the text.
  void flush() {
    if (used_ == 0) return;
    out_.append(block_.data(), used_);
    used_ = 0;
  }

  // 0..largest_field_integer; what is outside is clamped.
  text_writer& integer(std::int64_t value) {
    value = std::clamp<std::int64_t>(value, 0, largest_field_integer);
    if (value < 10) return octet(static_cast<char>('0' + value));
    return number(static_cast<std::uint64_t>(value));
  }

 private:
  // Most pieces are short, and a call of memcpy costs more than two words that overlap.
  static void copy(char* to, const char* from, std::size_t n) noexcept {
    if (n > 32 || n == 0) {
      if (n > 0) std::memcpy(to, from, n);
    } else if (n >= 16) {
      copy_twice<16>(to, from, n);
    } else if (n >= 8) {
      copy_twice<8>(to, from, n);
    } else if (n >= 4) {
      copy_twice<4>(to, from, n);
    } else if (n >= 2) {
      copy_twice<2>(to, from, n);
    } else {
      *to = *from;
    }
  }
  // The first and the last Word bytes of n. Precondition: Word <= n <= 2 * Word.
  template <std::size_t Word>
  static void copy_twice(char* to, const char* from, std::size_t n) noexcept {
    std::array<char, Word> first;
    std::array<char, Word> last;
    std::memcpy(first.data(), from, Word);
    std::memcpy(last.data(), from + n - Word, Word);
    std::memcpy(to, first.data(), Word);
    std::memcpy(to + n - Word, last.data(), Word);
  }

  std::string& out_;
  std::size_t used_ = 0;
  std::array<char, 768> block_;
};

}  // namespace penstock
