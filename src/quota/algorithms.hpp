// What the dispatcher in take.cpp calls: one set of functions per algorithm. Preconditions of all:
// those of take(), and capacity > 0.
#pragma once

#include <cstdint>

#include "quota/compiled.hpp"

namespace penstock::quotas {

// A number of ticks of `q` as the duration that verdicts carry.
[[nodiscard]] inline duration as_duration(const compiled& q, std::int64_t ticks) noexcept {
  return duration{ticks * q.tick_us};
}

namespace token_bucket {
[[nodiscard]] outcome take(const compiled& q, const state& prior, std::int64_t now,
                           std::int64_t cost) noexcept;
[[nodiscard]] outcome refund(const compiled& q, const state& prior, std::int64_t now,
                             std::int64_t cost) noexcept;
}  // namespace token_bucket

namespace leaky_bucket {
[[nodiscard]] outcome take(const compiled& q, const state& prior, std::int64_t now,
                           std::int64_t cost) noexcept;
[[nodiscard]] outcome refund(const compiled& q, const state& prior, std::int64_t now,
                             std::int64_t charged_at, std::int64_t cost) noexcept;
}  // namespace leaky_bucket

namespace fixed_window {
[[nodiscard]] outcome take(const compiled& q, const state& prior, std::int64_t now,
                           std::int64_t cost) noexcept;
[[nodiscard]] outcome refund(const compiled& q, const state& prior, std::int64_t now,
                             std::int64_t charged_at, std::int64_t cost) noexcept;
[[nodiscard]] std::int64_t expires_at(const compiled& q, const state& s) noexcept;
}  // namespace fixed_window

namespace sliding_counter {
[[nodiscard]] outcome take(const compiled& q, const state& prior, std::int64_t now,
                           std::int64_t cost) noexcept;
[[nodiscard]] outcome refund(const compiled& q, const state& prior, std::int64_t now,
                             std::int64_t charged_at, std::int64_t cost) noexcept;
[[nodiscard]] std::int64_t expires_at(const compiled& q, const state& s) noexcept;
}  // namespace sliding_counter

}  // namespace penstock::quotas
