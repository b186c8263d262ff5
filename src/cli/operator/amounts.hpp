// Figures as people read them at a glance. Pure.
#pragma once

#include <cstdint>
#include <string>

namespace penstock::cli {

// A stretch of time, its two largest units: "850 ms", "12 s", "2h 14min", "3d 4h". Rounded up, so
// that a wait is never called shorter than it is.
[[nodiscard]] std::string time_text(std::int64_t ms);

// How long something took, rounded up: "12 us", "1.3 ms", "2.5 s"; "-" for 0.
[[nodiscard]] std::string short_time_text(std::int64_t ns);

// So many in so many milliseconds as a rate: "12.5/s"; "-" when `ms` is not above 0.
[[nodiscard]] std::string rate_text(std::int64_t count, std::int64_t ms);

// "2026-01-31T09:05:07Z", and only "09:05:07Z".
[[nodiscard]] std::string instant_text(std::int64_t ms);
[[nodiscard]] std::string clock_text(std::int64_t ms);

}  // namespace penstock::cli
