#include "net/json_writer.hpp"

#include <array>
#include <charconv>
#include <cmath>

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

void append_code(std::string& out, unsigned code) {
  out += "\\u00";
  out += hex[code >> 4U];
  out += hex[code & 15U];
}

}  // namespace

void append_json_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
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
  if (!first_ && !after_key_) out_ += ',';
  first_ = false;
  after_key_ = false;
}

json_writer& json_writer::open(char bracket) {
  comma();
  out_ += bracket;
  first_ = true;
  return *this;
}

json_writer& json_writer::close(char bracket) {
  out_ += bracket;
  first_ = false;
  return *this;
}

json_writer& json_writer::key(std::string_view name) {
  comma();
  out_ += '"';
  append_json_escaped(out_, name);
  out_ += "\":";
  after_key_ = true;
  return *this;
}

json_writer& json_writer::value(std::string_view text) {
  comma();
  out_ += '"';
  append_json_escaped(out_, text);
  out_ += '"';
  return *this;
}

json_writer& json_writer::value(bool truth) {
  comma();
  out_ += truth ? "true" : "false";
  return *this;
}

json_writer& json_writer::value(double number) {
  if (!std::isfinite(number)) return null();
  comma();
  std::array<char, 32> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  out_.append(text.data(), static_cast<std::size_t>(end - text.data()));
  return *this;
}

json_writer& json_writer::null() {
  comma();
  out_ += "null";
  return *this;
}

}  // namespace penstock::net
