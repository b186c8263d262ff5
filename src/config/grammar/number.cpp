#include "config/grammar/number.hpp"

#include <charconv>

namespace penstock::config {

std::string quoted(std::string_view text) {
  constexpr std::size_t longest = 40;
  std::string out = "\"";
  for (const char c : text.substr(0, longest)) {
    out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  }
  if (text.size() > longest) {
    // Not in the middle of a character.
    while (out.size() > 1 && (static_cast<unsigned char>(out.back()) & 0xC0U) == 0x80U)
      out.pop_back();
    if (static_cast<unsigned char>(out.back()) >= 0xC0U) out.pop_back();
    out += "…";
  }
  return out + '"';
}

std::optional<std::int64_t> parse_count(std::string_view text) noexcept {
  std::int64_t n = 0;
  if (text.empty() || text.front() < '0' || text.front() > '9') return std::nullopt;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (failure != std::errc{} || end != text.data() + text.size() || n > largest_count) {
    return std::nullopt;
  }
  return n;
}

number_and_unit split_unit(std::string_view text) noexcept {
  const auto end = text.find_first_not_of("0123456789");
  if (end == std::string_view::npos) return {text, {}};
  return {text.substr(0, end), text.substr(end)};
}

}  // namespace penstock::config
