#include "import/nginx_values.hpp"

#include <algorithm>
#include <bit>

#include "base/ascii.hpp"
#include "policy/address.hpp"

namespace penstock::import {
namespace {

struct range {
  policy::address base;
  int prefix = 0;
};

std::optional<range> read_range(std::string_view text) {
  const auto slash = text.find('/');
  const auto address = policy::address::parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  const int longest = address->is_v4() ? 32 : 128;
  if (slash == std::string_view::npos) return range{*address, longest};
  const auto bits = parse_number(text.substr(slash + 1));
  const bool mapped = address->is_v4() && text.substr(0, slash).find(':') != std::string_view::npos;
  const std::int64_t shift = mapped ? 96 : 0;
  if (!bits || *bits < shift || *bits - shift > longest) return std::nullopt;
  const int prefix = static_cast<int>(*bits - shift);
  return range{address->masked(prefix), prefix};
}

std::string to_text(const range& r) {
  const int longest = r.base.is_v4() ? 32 : 128;
  auto text = r.base.to_string();
  return r.prefix == longest ? text : text + "/" + std::to_string(r.prefix);
}

std::optional<std::uint32_t> read_v4(std::string_view text) {
  const auto address = policy::address::parse(text);
  if (!address || !address->is_v4() || text.find(':') != std::string_view::npos)
    return std::nullopt;
  std::uint32_t out = 0;
  for (std::size_t i = 0; i < 4; ++i) out = out << 8U | address->octets()[i];
  return out;
}

}  // namespace

std::optional<std::int64_t> parse_number(std::string_view text) {
  if (text.empty() || text.size() > 12 || !std::all_of(text.begin(), text.end(), ascii::is_digit))
    return std::nullopt;
  std::int64_t out = 0;
  for (const char c : text) out = out * 10 + (c - '0');
  return out;
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const char unit = ascii::lower(text.back());
  const std::int64_t factor = unit == 'k' ? 1 << 10 : unit == 'm' ? 1 << 20 : 1;
  const auto number = parse_number(factor == 1 ? text : text.substr(0, text.size() - 1));
  if (!number) return std::nullopt;
  return *number * factor;
}

std::optional<std::string> parse_range(std::string_view text) {
  const auto r = read_range(text);
  if (!r) return std::nullopt;
  return to_text(*r);
}

std::vector<std::string> split_range(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == std::string_view::npos) return {};
  const auto first = read_v4(text.substr(0, dash));
  const auto last = read_v4(text.substr(dash + 1));
  if (!first || !last || *first > *last) return {};
  std::vector<std::string> out;
  std::uint64_t at = *first;
  while (at <= *last) {
    // The largest block that begins here and does not reach beyond the end.
    int bits = at == 0 ? 32 : std::countr_zero(static_cast<std::uint32_t>(at));
    while (at + (std::uint64_t{1} << bits) - 1 > *last) --bits;
    std::string address;
    for (int shift = 24; shift >= 0; shift -= 8)
      address += std::to_string(at >> shift & 255U) + (shift > 0 ? "." : "");
    out.push_back(bits == 0 ? address : address + "/" + std::to_string(32 - bits));
    at += std::uint64_t{1} << bits;
  }
  return out;
}

bool lies_in(std::string_view inner, std::string_view outer) {
  const auto a = read_range(inner);
  const auto b = read_range(outer);
  return a && b && a->base.is_v4() == b->base.is_v4() && a->prefix >= b->prefix &&
         a->base.masked(b->prefix) == b->base;
}

std::vector<piece> pieces_of(std::string_view text) {
  const auto is_name = [](char c) { return ascii::is_alnum(c) || c == '_'; };
  std::vector<piece> out;
  const auto literal = [&](char c) {
    if (out.empty() || out.back().variable) out.push_back({});
    out.back().text += c;
  };
  for (std::size_t i = 0; i < text.size();) {
    const bool braces = text.substr(i).starts_with("${");
    const std::size_t from = i + (braces ? 2 : 1);
    std::size_t end = from;
    while (text[i] == '$' && end < text.size() && is_name(text[end])) ++end;
    const bool closed = !braces || (end < text.size() && text[end] == '}');
    if (text[i] != '$' || end == from || !closed) {
      literal(text[i++]);
      continue;
    }
    out.push_back({true, std::string(text.substr(from, end - from))});
    i = end + (braces ? 1 : 0);
  }
  return out;
}

}  // namespace penstock::import
