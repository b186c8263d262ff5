// How quotas are written in files and messages: names of algorithms, durations, rates.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <penstock/clock.hpp>
#include <penstock/quota.hpp>

namespace penstock::quotas {

// The algorithm of that name; `leaky_bucket_meter` means token_bucket, which decides the same.
// Names are case-sensitive. Empty for any other name.
[[nodiscard]] std::optional<algorithm> parse_algorithm(std::string_view name) noexcept;

// "90s", "10min", "30d", "1500us": the largest unit of d, h, min, s, ms, us that divides it.
[[nodiscard]] std::string duration_text(duration d);

// "100/min", "5000/10min": the count, and the period without a leading 1.
[[nodiscard]] std::string rate_text(std::int64_t count, duration period);

// The whole quota in one line: "token_bucket 100/min burst 20". Fields at their defaults are left
// out.
[[nodiscard]] std::string describe(const quota& q);

}  // namespace penstock::quotas
