#include "net/http1_scan.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "net/http1_octets.hpp"

namespace penstock::net::http1 {

namespace {

// Index of the first control octet other than HTAB in s[from, to), `to` when there is none. Eight
// octets at a time; the tests are exact for the lowest octet that they flag, which is all we use.
std::size_t find_control(const char* s, std::size_t from, std::size_t to) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101U;
  constexpr std::uint64_t tops = ones * 0x80U;
  std::size_t i = from;
  if constexpr (std::endian::native == std::endian::little) {
    while (to - i >= 8) {
      std::uint64_t w = 0;
      std::memcpy(&w, s + i, sizeof w);
      const std::uint64_t del = w ^ (ones * 0x7fU);
      const std::uint64_t hit = (((w - ones * 0x20U) & ~w) | ((del - ones) & ~del)) & tops;
      if (hit == 0) {
        i += 8;
        continue;
      }
      i += static_cast<std::size_t>(std::countr_zero(hit)) / 8U;
      if (s[i] != '\t') return i;
      ++i;
    }
  }
  while (i < to && is(s[i], octet::value)) ++i;
  return i;
}

}  // namespace

head_scan::event head_scan::next(std::string_view buffer, const limits& l,
                                 std::string_view& line) noexcept {
  started_ = started_ || !buffer.empty();
  for (;;) {
    const bool first = lines_ == 0;
    const std::size_t head_bound = head_begin_ + l.head_max;
    // The CR of a start line of full length is the last octet that may be looked at.
    const std::size_t line_bound = first ? line_begin_ + l.request_line_max + 1 : head_bound;
    const std::size_t bound = std::min(line_bound, head_bound);

    pos_ = find_control(buffer.data(), pos_, std::min(buffer.size(), bound));
    if (pos_ >= bound) return line_bound < head_bound ? event::line_too_long : event::head_too_long;
    if (pos_ == buffer.size()) return event::need_more;
    if (buffer[pos_] != '\r') return event::bad_octet;
    if (pos_ + 1 >= head_bound) return event::head_too_long;
    if (pos_ + 1 == buffer.size()) return event::need_more;
    if (buffer[pos_ + 1] != '\n') return event::bad_octet;

    line = buffer.substr(line_begin_, pos_ - line_begin_);
    pos_ += 2;
    line_begin_ = pos_;
    if (!line.empty()) {
      if (first) fields_begin_ = pos_;
      ++lines_;
      return lines_ - 1 > l.fields_max ? event::too_many_fields : event::line;
    }
    if (!first) return event::end;
    if (++leading_ > leading_max_) return event::empty_lines;
    head_begin_ = pos_;
  }
}

}  // namespace penstock::net::http1
