// Integer division with a stated rounding, and products that are checked before they are made.
// All functions are pure and total for the ranges they name; nothing here overflows.
#pragma once

#include <cstdint>
#include <limits>

namespace penstock {

// Largest integer up to which every integer is exact in a double, and so in a Lua script.
inline constexpr std::int64_t exact_max = std::int64_t{1} << 53U;

// Quotient rounded towards minus infinity. Precondition: b > 0.
[[nodiscard]] constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) noexcept {
  return a / b - (a % b < 0 ? 1 : 0);
}

// Quotient rounded towards plus infinity. Precondition: b > 0.
[[nodiscard]] constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) noexcept {
  return a / b + (a % b > 0 ? 1 : 0);
}

// a * b <= max, without making the product. Precondition: a, b, max >= 0.
[[nodiscard]] constexpr bool product_within(std::int64_t a, std::int64_t b,
                                            std::int64_t max) noexcept {
  return a == 0 || b <= max / a;
}

// floor(a * b / c), or the largest int64 where that does not fit. 128-bit: for load time and
// messages only, never for a decision, which a script with doubles has to reproduce.
// Precondition: a, b >= 0, c > 0.
[[nodiscard]] constexpr std::int64_t mul_div_floor(std::int64_t a, std::int64_t b,
                                                   std::int64_t c) noexcept {
  __extension__ using wide = __int128;
  const wide quotient = static_cast<wide>(a) * b / c;
  constexpr std::int64_t top = std::numeric_limits<std::int64_t>::max();
  return quotient > top ? top : static_cast<std::int64_t>(quotient);
}

}  // namespace penstock
