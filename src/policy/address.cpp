#include "policy/address.hpp"

#include <algorithm>

#include "base/ascii.hpp"

namespace penstock::policy {

namespace {

using octets4 = std::array<std::uint8_t, 4>;
using octets16 = std::array<std::uint8_t, 16>;

// An IPv6 text has at most 39 characters; room for eight groups with a separator of two each.
constexpr std::size_t text_room = 8 * (2 + 4);

std::optional<octets4> parse_v4(std::string_view s) noexcept {
  octets4 out{};
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (i > 0) {
      if (s.empty() || s.front() != '.') return std::nullopt;
      s.remove_prefix(1);
    }
    unsigned value = 0;
    std::size_t digits = 0;
    while (digits < s.size() && digits < 4 && ascii::is_digit(s[digits])) {
      value = value * 10 + static_cast<unsigned>(s[digits++] - '0');
    }
    // A leading zero reads as octal elsewhere: two spellings of one address, so neither.
    if (digits == 0 || digits > 3 || value > 255 || (digits > 1 && s.front() == '0')) {
      return std::nullopt;
    }
    out[i] = static_cast<std::uint8_t>(value);
    s.remove_prefix(digits);
  }
  if (!s.empty()) return std::nullopt;
  return out;
}

// RFC 4291 §2.2: groups of 1-4 hex digits, at most one "::", the last 32 bits may be dotted.
std::optional<octets16> parse_v6(std::string_view s) noexcept {
  octets16 out{};
  std::size_t filled = 0;
  std::optional<std::size_t> gap;
  if (s.starts_with("::")) {
    gap = 0;
    s.remove_prefix(2);
  } else if (s.empty() || s.front() == ':') {
    return std::nullopt;
  }
  while (!s.empty()) {
    if (filled == out.size()) return std::nullopt;
    unsigned group = 0;
    std::size_t digits = 0;
    while (digits < s.size() && digits < 5 && ascii::hex_value(s[digits]) >= 0) {
      group = group * 16 + static_cast<unsigned>(ascii::hex_value(s[digits++]));
    }
    if (digits < s.size() && s[digits] == '.') {
      const auto tail = parse_v4(s);
      if (!tail || filled + tail->size() > out.size()) return std::nullopt;
      std::copy(tail->begin(), tail->end(), out.begin() + static_cast<std::ptrdiff_t>(filled));
      filled += tail->size();
      s = {};
      break;
    }
    if (digits == 0 || digits > 4) return std::nullopt;
    out[filled++] = static_cast<std::uint8_t>(group >> 8);
    out[filled++] = static_cast<std::uint8_t>(group & 0xff);
    s.remove_prefix(digits);
    if (s.empty()) break;
    if (s.starts_with("::")) {
      if (gap) return std::nullopt;
      gap = filled;
      s.remove_prefix(2);
    } else if (s.front() == ':' && s.size() > 1) {
      s.remove_prefix(1);
    } else {
      return std::nullopt;
    }
  }
  if (gap) {
    if (filled == out.size()) return std::nullopt;
    const auto from = out.begin() + static_cast<std::ptrdiff_t>(*gap);
    const auto end = out.begin() + static_cast<std::ptrdiff_t>(filled);
    std::copy_backward(from, end, out.end());
    std::fill(from, from + static_cast<std::ptrdiff_t>(out.size() - filled), std::uint8_t{0});
  } else if (filled != out.size()) {
    return std::nullopt;
  }
  return out;
}

bool is_zone(std::string_view zone) noexcept {
  return !zone.empty() && std::all_of(zone.begin(), zone.end(),
                                      [](char c) { return ascii::is_unreserved(c) || c == '%'; });
}

char* write_octet(char* p, unsigned value) noexcept {
  if (value >= 100) *p++ = static_cast<char>('0' + value / 100);
  if (value >= 10) *p++ = static_cast<char>('0' + value / 10 % 10);
  *p++ = static_cast<char>('0' + value % 10);
  return p;
}

char* write_v4(char* p, const octets16& o) noexcept {
  for (std::size_t i = 0; i < 4; ++i) {
    if (i > 0) *p++ = '.';
    p = write_octet(p, o[i]);
  }
  return p;
}

char* write_group(char* p, unsigned group) noexcept {
  constexpr char digits[] = "0123456789abcdef";
  if (group > 0xfff) *p++ = digits[group >> 12];
  if (group > 0xff) *p++ = digits[group >> 8 & 15];
  if (group > 0xf) *p++ = digits[group >> 4 & 15];
  *p++ = digits[group & 15];
  return p;
}

// RFC 5952: lower case, no leading zeros, the longest (first) run of two or more zero groups as
// "::".
char* write_v6(char* p, const octets16& o) noexcept {
  std::array<unsigned, 8> groups{};
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i] = o[2 * i] * 256U + o[2 * i + 1];
  std::size_t best = groups.size();
  std::size_t best_length = 1;
  for (std::size_t i = 0; i < groups.size();) {
    std::size_t length = 0;
    while (i + length < groups.size() && groups[i + length] == 0) ++length;
    if (length > best_length) {
      best = i;
      best_length = length;
    }
    i += length + 1;
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i == best) {
      *p++ = ':';
      *p++ = ':';
      i += best_length - 1;
      continue;
    }
    if (i > 0 && i != best + best_length) *p++ = ':';
    p = write_group(p, groups[i]);
  }
  return p;
}

}  // namespace

address address::v4(std::array<std::uint8_t, 4> octets) noexcept {
  address a;
  std::copy(octets.begin(), octets.end(), a.octets_.begin());
  return a;
}

address address::v6(const std::array<std::uint8_t, 16>& octets) noexcept {
  constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::equal(mapped.begin(), mapped.end(), octets.begin())) {
    return v4({octets[12], octets[13], octets[14], octets[15]});
  }
  address a;
  a.v4_ = false;
  a.octets_ = octets;
  return a;
}

std::optional<address> address::parse(std::string_view text) noexcept {
  if (text.find(':') == std::string_view::npos) {
    if (const auto o = parse_v4(text)) return v4(*o);
    return std::nullopt;
  }
  if (const std::size_t percent = text.find('%'); percent != std::string_view::npos) {
    if (!is_zone(text.substr(percent + 1))) return std::nullopt;
    text = text.substr(0, percent);
  }
  if (const auto o = parse_v6(text)) return v6(*o);
  return std::nullopt;
}

address address::masked(int prefix) const noexcept {
  address a = *this;
  const std::size_t size = v4_ ? 4 : 16;
  for (std::size_t i = 0; i < size; ++i) {
    const int kept = std::clamp(prefix - static_cast<int>(8 * i), 0, 8);
    a.octets_[i] = static_cast<std::uint8_t>(a.octets_[i] & (0xff00U >> kept));
  }
  return a;
}

std::string address::to_string() const {
  std::string out;
  append_to(out);
  return out;
}

void address::append_to(std::string& out) const {
  std::array<char, text_room> text;
  const char* const last = v4_ ? write_v4(text.data(), octets_) : write_v6(text.data(), octets_);
  out.append(text.data(), static_cast<std::size_t>(last - text.data()));
}

}  // namespace penstock::policy
