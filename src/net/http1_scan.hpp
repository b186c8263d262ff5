// Finds the lines of an HTTP/1 head in a growing buffer and refuses, at the first octet that shows
// it, what no later octet could mend: bare CR or LF, control octets, and anything over a bound.
// Each octet is looked at once however the input is split. No allocation; one object per connection
// side. Source: RFC 9112 2.2 and 5.5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock::net::http1 {

// Octets, except fields_max. Inclusive: a line or head of exactly the bound passes.
struct limits {
  std::size_t request_line_max = 8U << 10U;  // 414 above; CRLF not counted
  std::size_t head_max = 16U << 10U;         // 431 above, request line and empty line included
  std::size_t fields_max = 100;              // 431 above
};

class head_scan {
 public:
  enum class event : std::uint8_t {
    line,  // a line is complete: the start line first, then fields
    end,   // the empty line after the fields
    need_more,
    bad_octet,      // CR without LF, LF without CR, or another control octet but HTAB
    empty_lines,    // more empty lines ahead of the message than allowed
    line_too_long,  // the start line
    head_too_long,
    too_many_fields
  };

  // `leading_max`: how many empty lines may stand before the start line.
  explicit head_scan(std::size_t leading_max) noexcept : leading_max_(leading_max) {}

  // The next event of `buffer`, which starts at the same octet in every call and only grows. `line`
  // is set for event::line, without its CRLF. After anything but line and need_more: reset().
  [[nodiscard]] event next(std::string_view buffer, const limits& l,
                           std::string_view& line) noexcept;

  [[nodiscard]] bool started() const noexcept { return started_; }
  [[nodiscard]] std::size_t consumed() const noexcept { return line_begin_; }  // whole lines
  [[nodiscard]] std::size_t lines() const noexcept { return lines_; }  // non-empty ones so far
  // Where the start line and the first field line begin in the buffer.
  [[nodiscard]] std::size_t head_begin() const noexcept { return head_begin_; }
  [[nodiscard]] std::size_t fields_begin() const noexcept { return fields_begin_; }
  void reset() noexcept { *this = head_scan(leading_max_); }

 private:
  std::size_t leading_max_;
  std::size_t leading_ = 0;
  std::size_t pos_ = 0;  // the next octet to look at
  std::size_t line_begin_ = 0;
  std::size_t head_begin_ = 0;
  std::size_t fields_begin_ = 0;
  std::size_t lines_ = 0;
  bool started_ = false;
};

}  // namespace penstock::net::http1
