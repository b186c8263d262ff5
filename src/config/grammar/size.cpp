#include "config/grammar/size.hpp"

#include <array>

#include <fmt/format.h>

#include "config/grammar/number.hpp"

namespace penstock::config {
namespace {

struct unit_row {
  std::string_view name;
  int shift;
};
constexpr std::array units{unit_row{"B", 0}, unit_row{"KiB", 10}, unit_row{"MiB", 20},
                           unit_row{"GiB", 30}, unit_row{"TiB", 40}};

}  // namespace

parsed<std::int64_t> parse_size(std::string_view text) {
  const auto [digits, unit] = split_unit(text);
  if (digits.empty()) {
    return problem{fmt::format("{} is not a size", quoted(text)),
                   "bytes, for example 8KiB, 64MiB, 1500", 0};
  }
  const auto n = parse_count(digits);
  for (const auto& row : units) {
    if (unit != row.name && !(unit.empty() && row.shift == 0)) continue;
    if (!n || *n > (largest_count >> row.shift)) {
      return problem{fmt::format("{} is too large", quoted(text)), "at most 2^53 - 1 bytes", 0};
    }
    return *n << row.shift;
  }
  // 64M, 64MB, 64mb, 64m: say which unit stands for them.
  const char first = static_cast<char>(unit.front() & ~0x20);
  for (const auto& row : units) {
    if (row.shift > 0 && row.name.front() == first && unit.size() <= 3) {
      return problem{fmt::format("unknown unit {}", quoted(unit)),
                     fmt::format("did you mean \"{}{}\"?", digits, row.name), digits.size()};
    }
  }
  return problem{fmt::format("unknown unit {}", quoted(unit)), "units are B, KiB, MiB, GiB, TiB",
                 digits.size()};
}

std::string size_text(std::int64_t bytes) {
  for (auto row = units.rbegin(); row != units.rend(); ++row) {
    if (row->shift > 0 && bytes > 0 && bytes % (std::int64_t{1} << row->shift) == 0) {
      return fmt::format("{}{}", bytes >> row->shift, row->name);
    }
  }
  return std::to_string(bytes);
}

}  // namespace penstock::config
