// The Date field: IMF-fixdate of a second since the Unix epoch, and a cache that formats once per
// second. No clock and no locale: the time is an argument. A cache belongs to one thread.
// Source: RFC 9110 5.6.7 and 6.6.1.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace penstock::net::http1 {

inline constexpr std::size_t date_size = 29;  // "Sun, 06 Nov 1994 08:49:37 GMT"

// Writes the date of `epoch_s`, seconds since 1970-01-01T00:00:00Z. Range: years 0000 to 9999, to
// whose ends other values are clamped, as the format has four digits for the year.
void format_date(std::int64_t epoch_s, std::span<char, date_size> out) noexcept;

class date_cache {
 public:
  // The view is good until the next call with another second.
  [[nodiscard]] std::string_view at(std::int64_t epoch_s) noexcept;

 private:
  std::array<char, date_size> text_{};
  std::int64_t epoch_s_ = 0;
  bool filled_ = false;
};

}  // namespace penstock::net::http1
