#include "config/grammar/duration.hpp"

#include <array>

#include <fmt/format.h>

#include "config/grammar/number.hpp"

namespace penstock::config {
namespace {

struct unit_row {
  std::string_view name;
  std::int64_t us;
};
constexpr std::array units{
    unit_row{"us", 1},           unit_row{"ms", 1'000},          unit_row{"s", 1'000'000},
    unit_row{"min", 60'000'000}, unit_row{"h", 3'600'000'000LL}, unit_row{"d", 86'400'000'000LL},
};
constexpr std::int64_t longest_us = 400 * 86'400'000'000LL;

// Spellings of other systems, with ours.
constexpr std::array<std::pair<std::string_view, std::string_view>, 20> other_spellings{{
    {"m", "min"},  {"M", "min"},  {"mins", "min"}, {"minute", "min"}, {"minutes", "min"},
    {"sec", "s"},  {"secs", "s"}, {"second", "s"}, {"seconds", "s"},  {"S", "s"},
    {"hr", "h"},   {"hour", "h"}, {"hours", "h"},  {"H", "h"},        {"day", "d"},
    {"days", "d"}, {"D", "d"},    {"msec", "ms"},  {"millis", "ms"},  {"µs", "us"},
}};

}  // namespace

parsed<duration> parse_unit(std::string_view unit) {
  for (const auto& row : units) {
    if (row.name == unit) return duration{row.us};
  }
  for (const auto& [theirs, ours] : other_spellings) {
    if (theirs == unit) {
      return problem{fmt::format("unknown unit {}", quoted(unit)),
                     fmt::format("did you mean \"{}\"?", ours), 0};
    }
  }
  return problem{fmt::format("unknown unit {}", quoted(unit)), "units are us, ms, s, min, h, d", 0};
}

parsed<duration> parse_duration(std::string_view text) {
  constexpr std::string_view example =
      "a whole number and a unit, for example 20ms, 10s, 15min, 1h, 30d";
  const auto [digits, unit] = split_unit(text);
  if (digits.empty()) {
    return problem{fmt::format("{} is not a duration", quoted(text)), std::string(example), 0};
  }
  const auto n = parse_count(digits);
  if (n == 0 && unit.empty()) return duration{0};
  if (unit.empty()) {
    return problem{fmt::format("{} has no unit", quoted(text)),
                   fmt::format("did you mean \"{}s\"?", digits), digits.size()};
  }
  if (unit.front() == '.') {
    return problem{fmt::format("{} is not a whole number", quoted(text)),
                   "use a smaller unit: 1500ms for one and a half seconds", digits.size()};
  }
  const auto one = parse_unit(unit);
  if (!one) return one.moved(digits.size());
  if (!n || *n > longest_us / one->count()) {
    return problem{fmt::format("{} is too long", quoted(text)), "at most 400d", 0};
  }
  return duration{*n * one->count()};
}

std::string to_text(duration d) {
  if (d.count() == 0) return "0";
  for (auto row = units.rbegin(); row != units.rend(); ++row) {
    if (d.count() % row->us == 0) return fmt::format("{}{}", d.count() / row->us, row->name);
  }
  return fmt::format("{}us", d.count());
}

}  // namespace penstock::config
