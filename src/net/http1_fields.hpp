// Field lines of HTTP/1 heads and what the fields of a message say together about its framing and
// its connection. Pure; no allocation; views into the line given. Source: RFC 9112 5, 6 and 9.3.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/field.hpp"

namespace penstock::net::http1 {

// White space between name and colon: refused in requests, removed in responses (RFC 9112 5.1).
enum class space_before_colon : std::uint8_t { refused, removed };

// Takes one line (no CRLF, no control octet but HTAB) apart. Returns nullptr, or a static sentence
// that says what is wrong; `out` is then untouched.
[[nodiscard]] const char* parse_field_line(std::string_view line, space_before_colon space,
                                           field& out) noexcept;

// The fields that the machines themselves act on.
enum class field_kind : std::uint8_t {
  other,
  host,
  content_length,
  transfer_encoding,
  connection,
  expect,
  upgrade
};
[[nodiscard]] field_kind kind_of(std::string_view name) noexcept;

// What the fields seen so far say about framing and persistence.
struct message_facts {
  std::uint64_t content_length = 0;
  bool has_content_length = false;
  bool chunked = false;  // Transfer-Encoding is exactly `chunked`
  bool close = false;    // Connection options
  bool keep_alive = false;
  bool upgrade_option = false;
  bool upgrade_field = false;  // a non-empty Upgrade field

  // Adds one field. Returns nullptr, or a static sentence when the message must be refused: a
  // length that is not one plain number up to 2^63 - 1, a second length, any coding but one
  // `chunked`, a Connection member that is no token or that names a framing or routing field.
  [[nodiscard]] const char* add(field_kind kind, std::string_view value) noexcept;

  // The rules that need all fields: both lengths, a coding in HTTP/1.0. Same return.
  [[nodiscard]] const char* check(int version_minor) const noexcept;

  // Whether the connection may be used after this message.
  [[nodiscard]] bool persistent(int version_minor) const noexcept {
    return !close && (version_minor >= 1 || keep_alive);
  }
};

}  // namespace penstock::net::http1
