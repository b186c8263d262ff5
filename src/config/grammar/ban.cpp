#include "config/grammar/ban.hpp"

#include <fmt/format.h>

#include "config/grammar/duration.hpp"
#include "config/grammar/number.hpp"

namespace penstock::config {

parsed<ban_trigger> parse_ban_trigger(std::string_view text) {
  constexpr std::string_view example = "for example 20 refusals in 1min";
  const auto [digits, rest] = split_unit(text);
  std::string_view middle = " refusals in ";
  if (rest.starts_with(" refusal in ")) middle = " refusal in ";
  if (digits.empty() || !rest.starts_with(middle)) {
    return problem{fmt::format("{} does not say when to ban", quoted(text)), std::string(example),
                   0};
  }
  const auto refusals = parse_count(digits);
  if (!refusals || *refusals == 0 || *refusals > 1'000'000) {
    return problem{"the number of refusals is out of range", "1 to 1000000", 0};
  }
  const auto skipped = digits.size() + middle.size();
  const auto within = parse_duration(text.substr(skipped));
  if (!within) return within.moved(skipped);
  if (within->count() == 0) return problem{"the time must not be 0", std::string(example), skipped};
  return ban_trigger{*refusals, *within};
}

}  // namespace penstock::config
