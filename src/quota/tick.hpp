// The tick of a quota, and the numbers that follow from it. The bounds here are the whole reason
// why no decision can overflow: every product that a decision makes is bounded by `full` or
// count*period.
#pragma once

#include <cstdint>
#include <optional>

#include <penstock/quota.hpp>

#include "quota/compiled.hpp"

namespace penstock::quotas {

// Distances that are added up in pairs stay within 2^53 when each is within this.
inline constexpr std::int64_t distance_max = std::int64_t{1} << 52U;

// The quota in its finest workable tick; empty when there is none. Precondition: every field is
// within its own range.
[[nodiscard]] std::optional<compiled> compile_exact(const quota& q);

// The coarsest tick that divides the periods, in microseconds: where the largest quotas fit.
[[nodiscard]] std::int64_t coarsest_tick_us(const quota& q);

}  // namespace penstock::quotas
