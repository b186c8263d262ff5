#include "cli/operator/plain_text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>

namespace penstock::cli {
namespace {

struct character {
  std::uint32_t point = 0;
  std::size_t size = 0;  // octets; 0: they are no UTF-8
};

// The first character, shortest form only (RFC 3629).
character first_of(std::string_view text) noexcept {
  const auto at = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::uint32_t lead = at(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t size = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < size) return {};
  std::uint32_t point = lead & (0x7FU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if ((at(i) & 0xC0U) != 0x80) return {};
    point = point << 6U | (at(i) & 0x3FU);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (point < least[size] || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return {};
  return {point, size};
}

// Controls, marks without width, changes of direction, tags: what a person cannot see.
bool invisible(std::uint32_t point) noexcept {
  constexpr struct {
    std::uint32_t from, to;
  } ranges[] = {{0x00, 0x1F},     {0x7F, 0x9F},      {0xAD, 0xAD},     {0x61C, 0x61C},
                {0x200B, 0x200F}, {0x2028, 0x202E},  {0x2060, 0x206F}, {0xFEFF, 0xFEFF},
                {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF}};
  return std::ranges::any_of(ranges,
                             [point](const auto& r) { return point >= r.from && point <= r.to; });
}

}  // namespace

std::string plain_text(std::string_view text) {
  std::string out;
  std::array<char, 16> escape{};
  while (!text.empty()) {
    const character c = first_of(text);
    if (c.size == 0 || (c.size == 1 && invisible(c.point))) {
      std::snprintf(escape.data(), escape.size(), "\\x%02x", static_cast<unsigned char>(text[0]));
      out += escape.data();
      text.remove_prefix(1);
      continue;
    }
    if (invisible(c.point)) {
      std::snprintf(escape.data(), escape.size(), "\\u{%x}", c.point);
      out += escape.data();
    } else {
      out.append(text.substr(0, c.size));
      if (c.point == '\\') out += '\\';
    }
    text.remove_prefix(c.size);
  }
  return out;
}

std::string plain_json(std::string_view json) {
  std::string out;
  std::array<char, 16> escape{};
  while (!json.empty()) {
    const character c = first_of(json);
    const std::size_t size = std::max<std::size_t>(c.size, 1);
    if (c.point < 0x7F || !invisible(c.point)) {
      out.append(json.substr(0, size));
    } else if (c.point < 0x10000) {
      std::snprintf(escape.data(), escape.size(), "\\u%04x", c.point);
      out += escape.data();
    } else {
      const std::uint32_t rest = c.point - 0x10000;
      std::snprintf(escape.data(), escape.size(), "\\u%04x\\u%04x", 0xD800 + (rest >> 10U),
                    0xDC00 + (rest & 0x3FFU));
      out += escape.data();
    }
    json.remove_prefix(size);
  }
  return out;
}

std::size_t columns_of(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80; }));
}

std::string cut(std::string_view text, std::size_t columns) {
  if (columns_of(text) <= columns) return std::string(text);
  if (columns == 0) return {};
  std::size_t end = 0;
  for (std::size_t left = columns - 1; left > 0; --left) {
    do ++end;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80);
  }
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace penstock::cli
