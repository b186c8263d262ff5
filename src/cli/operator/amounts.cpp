#include "cli/operator/amounts.hpp"

#include <array>
#include <chrono>

#include <penstock/clock.hpp>

#include "admin/change.hpp"

namespace penstock::cli {
namespace {

// Tenths as "12.5", without ".0" from 100 on, where nobody reads it.
std::string tenths_text(std::int64_t tenths) {
  if (tenths >= 1000 || tenths % 10 == 0) return std::to_string(tenths / 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

}  // namespace

std::string time_text(std::int64_t ms) {
  if (ms < 1000) return std::to_string(ms) + " ms";
  const std::int64_t s = (ms + 999) / 1000;
  if (s < 60) return std::to_string(s) + " s";
  constexpr struct {
    std::int64_t seconds, part;
    const char *name, *part_name;
  } units[] = {{86'400, 3600, "d", "h"}, {3600, 60, "h", "min"}, {60, 1, "min", "s"}};
  for (const auto& u : units) {
    const std::int64_t up = (s + u.part - 1) / u.part * u.part;
    if (up < u.seconds) continue;
    const std::int64_t whole = up / u.seconds, rest = up % u.seconds / u.part;
    std::string text = std::to_string(whole) + u.name;
    if (rest > 0) text += " " + std::to_string(rest) + u.part_name;
    return text;
  }
  return {};
}

std::string short_time_text(std::int64_t ns) {
  if (ns <= 0) return "-";
  if (ns < 1'000'000) return std::to_string((ns + 999) / 1000) + " us";
  if (ns < 1'000'000'000) return tenths_text((ns + 99'999) / 100'000) + " ms";
  return tenths_text((ns + 99'999'999) / 100'000'000) + " s";
}

std::string rate_text(std::int64_t count, std::int64_t ms) {
  if (ms <= 0 || count < 0) return "-";
  return tenths_text(count * 10'000 / ms) + "/s";
}

std::string instant_text(std::int64_t ms) {
  return admin::iso_time(instant{std::chrono::milliseconds{ms}});
}

std::string clock_text(std::int64_t ms) {
  return instant_text(ms).substr(11);
}

}  // namespace penstock::cli
