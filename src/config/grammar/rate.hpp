// Rates: units per period, "10/s", "100/min", "5000/10min"; "0" denies all, "unlimited" is a word.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <penstock/clock.hpp>

#include "config/grammar/parsed.hpp"

namespace penstock::config {

struct rate {
  bool unlimited = false;
  std::int64_t count = 0;  // 0: denies all
  duration period{1'000'000};
  friend bool operator==(const rate&, const rate&) = default;
};

// Only the text is judged here; whether a store can keep the quota exactly: penstock::validate.
[[nodiscard]] parsed<rate> parse_rate(std::string_view text);

// "10/s", "5000/10min", "0/s", "unlimited": reads back as the same.
[[nodiscard]] std::string to_text(const rate& r);

}  // namespace penstock::config
