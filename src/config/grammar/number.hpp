// Whole numbers, and a number with a unit behind it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "config/grammar/parsed.hpp"

namespace penstock::config {

// Largest number that every store keeps exactly (2^53 - 1).
inline constexpr std::int64_t largest_count = (std::int64_t{1} << 53) - 1;

// Decimal digits only, no sign, 0..largest_count.
[[nodiscard]] std::optional<std::int64_t> parse_count(std::string_view text) noexcept;

// "15min" -> {15, "min"}; the number is the leading digits, the unit is all the rest.
struct number_and_unit {
  std::string_view digits, unit;
};
[[nodiscard]] number_and_unit split_unit(std::string_view text) noexcept;

}  // namespace penstock::config
