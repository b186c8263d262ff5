// The numbers of a limit or plan as written, and their way into quotas. The file and the --limit
// flag share it, so both refuse the same things in the same words.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <penstock/quota.hpp>

#include "config/grammar/parsed.hpp"
#include "config/grammar/rate.hpp"
#include "policy/spec.hpp"

namespace penstock::config {

struct quota_fields {
  algorithm kind = algorithm::token_bucket;
  std::vector<rate> rates{};
  std::optional<std::int64_t> burst, queue, undelayed, max_entries;
  std::optional<duration> burst_window, max_delay;
};

// A problem with one of the fields, by its key in the file; `index` counts in `rates`.
struct field_problem {
  std::string_view field{};
  std::size_t index = 0;
  problem what{};
};

// Problems of all fields; `out` is set only when there is none.
[[nodiscard]] std::vector<field_problem> to_quotas(const quota_fields& fields,
                                                   policy::rate_spec& out);

// "token_bucket", …, and "leaky_bucket_meter", which is a token bucket.
[[nodiscard]] parsed<algorithm> parse_algorithm(std::string_view text);

}  // namespace penstock::config
