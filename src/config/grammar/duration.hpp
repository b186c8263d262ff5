// Durations: a whole number and a unit, "20ms", "10s", "15min", "1h", "30d".
#pragma once

#include <string>
#include <string_view>

#include <penstock/clock.hpp>

#include "config/grammar/parsed.hpp"

namespace penstock::config {

// Units us, ms, s, min, h, d; "0" needs none. At most 400 days.
[[nodiscard]] parsed<duration> parse_duration(std::string_view text);

// One unit by its name ("s" -> 1 s), for rates.
[[nodiscard]] parsed<duration> parse_unit(std::string_view unit);

// The shortest text that reads back as the same: "1500ms", "15min".
[[nodiscard]] std::string to_text(duration d);

}  // namespace penstock::config
