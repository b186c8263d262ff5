// Small ASCII helpers for protocol text. Independent of the locale; bytes above 127 are left alone.
// Pure, no allocation.
#pragma once

#include <cstddef>
#include <string_view>

namespace penstock::ascii {

[[nodiscard]] constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

[[nodiscard]] constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

[[nodiscard]] constexpr bool is_alnum(char c) noexcept {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// RFC 3986 §2.3.
[[nodiscard]] constexpr bool is_unreserved(char c) noexcept {
  return is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

// RFC 9110 §5.6.2.
[[nodiscard]] constexpr bool is_token(char c) noexcept {
  return is_alnum(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// Equal apart from the case of A-Z.
[[nodiscard]] constexpr bool iequals(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

// Without leading and trailing spaces and tabs.
[[nodiscard]] constexpr std::string_view trim(std::string_view s) noexcept {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t')) s.remove_suffix(1);
  return s;
}

// Cuts `rest` at the first `separator`: returns what stood before it, or all of it.
constexpr std::string_view take_until(std::string_view& rest, char separator) noexcept {
  const std::size_t at = rest.find(separator);
  const std::string_view head = rest.substr(0, at);
  rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  return head;
}

// 0..15, or -1.
[[nodiscard]] constexpr int hex_value(char c) noexcept {
  if (is_digit(c)) return c - '0';
  const char l = lower(c);
  return l >= 'a' && l <= 'f' ? l - 'a' + 10 : -1;
}

}  // namespace penstock::ascii
