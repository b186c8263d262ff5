// Which quotas are accepted, and what to write instead of one that is not. Load time only.
#pragma once

#include <optional>
#include <string>

#include <penstock/quota.hpp>

namespace penstock::quotas {

inline constexpr std::int64_t count_max = (std::int64_t{1} << 53U) - 1;
inline constexpr duration period_min = std::chrono::milliseconds{1};
inline constexpr duration period_max = std::chrono::days{400};
inline constexpr std::int64_t max_entries_max = 1'000'000;

struct problem {
  std::string text;  // what is wrong, naming the field; without the place and the remedy
  quota nearest;     // the accepted quota closest to what was written
};

// The first reason why `q` cannot be kept exactly; empty when it can.
[[nodiscard]] std::optional<problem> find_problem(const quota& q);

}  // namespace penstock::quotas
