// The counters of telemetry, and how they are kept apart: what two loops write is never on one
// cache line.
#pragma once

#include <cstddef>

#include "base/cell.hpp"

namespace penstock::telemetry {

using penstock::cell;

inline constexpr std::size_t cache_line = 64;

}  // namespace penstock::telemetry
