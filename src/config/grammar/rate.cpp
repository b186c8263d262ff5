#include "config/grammar/rate.hpp"

#include <fmt/format.h>

#include "config/grammar/duration.hpp"
#include "config/grammar/number.hpp"

namespace penstock::config {
namespace {

constexpr std::string_view example = "a count and a period, for example 10/s, 100/min, 5000/10min";

// What people write elsewhere: "10r/s" (nginx), "10 per second", "10 / s". Empty: nothing known.
std::string rewritten(std::string_view digits, std::string_view rest) {
  for (const std::string_view between : {"r/", " per ", "per ", " / ", "/ ", " /", "/1 ", "-"}) {
    if (!rest.starts_with(between)) continue;
    const auto unit = parse_unit(rest.substr(between.size()));
    if (unit) return fmt::format("did you mean \"{}/{}\"?", digits, rest.substr(between.size()));
    const auto& hint = unit.error().hint;
    const auto from = hint.find('"');
    if (from == std::string::npos) continue;
    return fmt::format("did you mean \"{}/{}", digits, hint.substr(from + 1));
  }
  return {};
}

}  // namespace

parsed<rate> parse_rate(std::string_view text) {
  if (text == "unlimited") return rate{.unlimited = true};
  if (text == "0") return rate{};
  const auto [digits, rest] = split_unit(text);
  if (digits.empty()) {
    return problem{fmt::format("{} is not a rate", quoted(text)), std::string(example), 0};
  }
  const auto count = parse_count(digits);
  if (!count) return problem{"the count is too large", "at most 9007199254740991 (2^53 - 1)", 0};
  if (rest.empty()) {
    return problem{fmt::format("{} has no period", quoted(text)),
                   fmt::format("did you mean \"{}/s\" or \"{}/min\"?", digits, digits),
                   digits.size()};
  }
  if (rest.front() != '/' || rest.find(' ') != std::string_view::npos) {
    auto hint = rewritten(digits, rest);
    return problem{fmt::format("{} is not a rate", quoted(text)),
                   hint.empty() ? std::string(example) : std::move(hint), digits.size()};
  }
  const auto period_text = rest.substr(1);
  const bool bare_unit =
      period_text.empty() || period_text.front() < '0' || period_text.front() > '9';
  const auto period = bare_unit ? parse_unit(period_text) : parse_duration(period_text);
  if (!period) return period.moved(digits.size() + 1);
  if (period->count() == 0) {
    return problem{"the period must not be 0", std::string(example), digits.size() + 1};
  }
  return rate{.count = *count, .period = *period};
}

std::string to_text(const rate& r) {
  if (r.unlimited) return "unlimited";
  auto period = to_text(r.period);
  if (period.starts_with('1') && period.find_first_of("0123456789", 1) == std::string::npos) {
    period.erase(0, 1);
  }
  return fmt::format("{}/{}", r.count, period);
}

}  // namespace penstock::config
