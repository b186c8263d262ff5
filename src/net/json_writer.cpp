#include "net/json_writer.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

namespace penstock::net {
namespace {

constexpr std::string_view hex = "0123456789abcdef";

// The length of the well-formed UTF-8 sequence at the front of `s`; 0: there is none.
// Source: Unicode 15, table 3-7.
std::size_t sequence_length(std::string_view s) noexcept {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const auto tail = [&](std::size_t i) { return i < s.size() && (at(i) & 0xc0U) == 0x80; };
  const unsigned lead = at(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead <= 0xdf) return tail(1) ? 2 : 0;
  if (lead >= 0xe0 && lead <= 0xef) {
    if (!tail(1) || !tail(2)) return 0;
    const bool overlong = lead == 0xe0 && at(1) < 0xa0;
    const bool surrogate = lead == 0xed && at(1) > 0x9f;
    return overlong || surrogate ? 0 : 3;
  }
  if (lead >= 0xf0 && lead <= 0xf4) {
    if (!tail(1) || !tail(2) || !tail(3)) return 0;
    const bool overlong = lead == 0xf0 && at(1) < 0x90;
    const bool beyond = lead == 0xf4 && at(1) > 0x8f;
    return overlong || beyond ? 0 : 4;
  }
  return 0;
}

// Octets that stand for themselves in a JSON string as we write it.
consteval std::array<bool, 256> make_plain_table() {
  std::array<bool, 256> plain{};
  for (unsigned c = 0x20; c < 0x7f; ++c) {
    plain[c] = c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
  }
  return plain;
}

constexpr std::array<bool, 256> plain_table = make_plain_table();

// Whether all eight octets are plain. Each test is exact for the lowest octet that it flags.
bool plain_word(std::uint64_t w) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101U;
  const auto has_zero = [](std::uint64_t x) { return (x - ones) & ~x; };
  const std::uint64_t odd = w | ((w - ones * 0x20U) & ~w) | has_zero(w ^ (ones * 0x7fU)) |
                            has_zero(w ^ (ones * '\\')) |
                            has_zero((w | (ones * 0x02U)) ^ (ones * '>')) |  // < too
                            has_zero((w | (ones * 0x04U)) ^ (ones * '&'));   // " too
  return (odd & (ones * 0x80U)) == 0;
}

// How many octets at the front are plain.
std::size_t plain_length(std::string_view s) noexcept {
  std::size_t i = 0;
  while (s.size() - i >= 8) {
    std::uint64_t w = 0;
    std::memcpy(&w, s.data() + i, sizeof w);
    if (!plain_word(w)) break;
    i += 8;
  }
  while (i < s.size() && plain_table[static_cast<unsigned char>(s[i])]) ++i;
  return i;
}

// Whether every octet is plain. In words that overlap, since most texts are short.
bool is_plain(std::string_view s) noexcept {
  const std::size_t n = s.size();
  if (n < 4) return plain_length(s) == n;
  std::uint64_t w = 0;
  if (n < 8) {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::memcpy(&first, s.data(), sizeof first);
    std::memcpy(&last, s.data() + n - 4, sizeof last);
    return plain_word(first | std::uint64_t{last} << 32U);
  }
  for (std::size_t i = 0; i + 8 < n; i += 8) {
    std::memcpy(&w, s.data() + i, sizeof w);
    if (!plain_word(w)) return false;
  }
  std::memcpy(&w, s.data() + n - 8, sizeof w);
  return plain_word(w);
}

void append_code(std::string& out, unsigned code) {
  out += "\\u00";
  out += hex[code >> 4U];
  out += hex[code & 15U];
}

}  // namespace

void append_json_escaped(std::string& out, std::string_view text) {
  for (;;) {
    // Most texts are plain as a whole, and all are plain for the most part.
    const std::size_t plain = plain_length(text);
    out.append(text.data(), plain);
    text.remove_prefix(plain);
    if (text.empty()) return;
    const std::size_t length = sequence_length(text);
    const auto c = static_cast<unsigned char>(text.front());
    if (length == 0) {
      out += "\\ufffd";
      text.remove_prefix(1);
      continue;
    }
    const bool c1 = length == 2 && c == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    if (c1) {
      append_code(out, static_cast<unsigned char>(text[1]));
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += text.front();
    } else if (c < 0x20 || c == 0x7f || c == '<' || c == '>' || c == '&') {
      append_code(out, c);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
}

void json_writer::comma() {
  if (!first_ && !after_key_) to_.octet(',');
  first_ = false;
  after_key_ = false;
}

void json_writer::quoted(std::string_view text) {
  to_.octet('"');
  if (is_plain(text)) {
    to_.text(text);
  } else {
    to_.flush();
    append_json_escaped(out_, text);
  }
  to_.octet('"');
}

json_writer& json_writer::open(char bracket) {
  comma();
  to_.octet(bracket);
  ++depth_;
  first_ = true;
  return *this;
}

json_writer& json_writer::close(char bracket) {
  to_.octet(bracket);
  if (--depth_ == 0) to_.flush();
  first_ = false;
  return *this;
}

json_writer& json_writer::key(std::string_view name) {
  comma();
  quoted(name);
  to_.octet(':');
  after_key_ = true;
  return *this;
}

json_writer& json_writer::value(std::string_view text) {
  comma();
  quoted(text);
  return *this;
}

json_writer& json_writer::value(bool truth) {
  comma();
  to_.text(truth ? "true" : "false");
  return *this;
}

json_writer& json_writer::value(double number) {
  if (!std::isfinite(number)) return null();
  comma();
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  to_.text({text.data(), static_cast<std::size_t>(end - text.data())});
  return *this;
}

json_writer& json_writer::null() {
  comma();
  to_.text("null");
  return *this;
}

}  // namespace penstock::net
