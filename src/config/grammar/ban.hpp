// "20 refusals in 1min": when a key is banned.
#pragma once

#include <cstdint>
#include <string_view>

#include <penstock/clock.hpp>

#include "config/grammar/parsed.hpp"

namespace penstock::config {

struct ban_trigger {
  std::int64_t refusals = 0;  // at least 1
  duration within{};          // more than 0
};

[[nodiscard]] parsed<ban_trigger> parse_ban_trigger(std::string_view text);

}  // namespace penstock::config
