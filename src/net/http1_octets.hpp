// The octet classes of HTTP/1 and URI grammar in one 256-entry table, and what the HTTP/1 code says
// in terms of them. Pure and constexpr, safe from any thread.
// Source: RFC 9110 5.5, 5.6.2; RFC 3986 2 and 3.2.2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/ascii.hpp"

namespace penstock::net::http1 {

// One bit per class; an octet may be in several.
namespace octet {
inline constexpr std::uint8_t token = 1;  // tchar
inline constexpr std::uint8_t value = 2;  // HTAB, SP, VCHAR, obs-text
inline constexpr std::uint8_t digit = 4;
inline constexpr std::uint8_t hex = 8;
inline constexpr std::uint8_t path = 16;   // stands for itself in a path; '%' is checked apart
inline constexpr std::uint8_t query = 32;  // stands for itself in a query
inline constexpr std::uint8_t host = 64;   // reg-name without ',' and '%'
}  // namespace octet

namespace detail {

consteval std::array<std::uint8_t, 256> make_octet_table() {
  std::array<std::uint8_t, 256> t{};
  const auto add = [&t](std::string_view set, unsigned cls) {
    for (const char c : set) {
      auto& e = t[static_cast<unsigned char>(c)];
      e = static_cast<std::uint8_t>(e | cls);
    }
  };
  const auto add_range = [&t](unsigned from, unsigned to, unsigned cls) {
    for (unsigned c = from; c <= to; ++c) t[c] = static_cast<std::uint8_t>(t[c] | cls);
  };
  const unsigned everywhere = octet::token | octet::path | octet::query | octet::host;
  add_range('0', '9', everywhere | octet::digit | octet::hex);
  add_range('a', 'z', everywhere);
  add_range('A', 'Z', everywhere);
  add("abcdefABCDEF", octet::hex);
  add("!#$%&'*+-.^_`|~", octet::token);
  add_range(0x20, 0x7e, octet::value);
  add_range(0x80, 0xff, octet::value);
  add("\t", octet::value);
  // unreserved and sub-delims; a comma in a host would read as a list of hosts
  add("-._~!$&'()*+;=", octet::path | octet::query | octet::host);
  add(",:@/", octet::path | octet::query);
  // Not URI characters, yet browsers send them as they are (WHATWG URL, path and query
  // percent-encode sets), and no recipient gives them a meaning for framing or for segments.
  add("[]|^`{}", octet::path | octet::query);
  add("?\\%", octet::query);
  return t;
}

inline constexpr std::array<std::uint8_t, 256> octet_table = make_octet_table();

}  // namespace detail

[[nodiscard]] constexpr bool is(char c, std::uint8_t cls) noexcept {
  return (detail::octet_table[static_cast<unsigned char>(c)] & cls) != 0;
}

// Index of the first octet of `s` outside `cls`, s.size() when there is none.
[[nodiscard]] constexpr std::size_t span_of(std::string_view s, std::uint8_t cls) noexcept {
  std::size_t i = 0;
  // By fours: names and paths are short, and the loop itself would cost as much as the look.
  while (s.size() - i >= 4 && is(s[i], cls) && is(s[i + 1], cls) && is(s[i + 2], cls) &&
         is(s[i + 3], cls)) {
    i += 4;
  }
  while (i < s.size() && is(s[i], cls)) ++i;
  return i;
}

// False for the empty string.
[[nodiscard]] constexpr bool is_token(std::string_view s) noexcept {
  return !s.empty() && span_of(s, octet::token) == s.size();
}

// True when `s` may be sent as a field value as it is: no control octet but HTAB. Empty is fine.
[[nodiscard]] constexpr bool is_field_value(std::string_view s) noexcept {
  return span_of(s, octet::value) == s.size();
}

// Takes the first member, trimmed and perhaps empty, off a comma-separated list of tokens. Not for
// fields whose members may hold quoted strings. Returns false when nothing is left.
[[nodiscard]] constexpr bool next_member(std::string_view& rest,
                                         std::string_view& member) noexcept {
  if (rest.empty()) return false;
  const std::size_t comma = rest.find(',');
  member = ascii::trim(rest.substr(0, comma));
  rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  return true;
}

}  // namespace penstock::net::http1
