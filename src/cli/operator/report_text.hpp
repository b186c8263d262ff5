// Answers of the admin API as a person reads them, shared by the commands and by `top`. Pure.
#pragma once

#include <string>
#include <vector>

#include "cli/operator/answers.hpp"
#include "cli/operator/text_table.hpp"

namespace penstock::cli {

// What is running and whether it is well: one line each for process, state, policy and store.
[[nodiscard]] std::vector<std::string> process_lines(const object& status, const std::string& at);

// Requests since the start, listeners and times, one line each.
[[nodiscard]] std::vector<std::string> detail_lines(const object& status);

[[nodiscard]] text_table limits_table(const object& limits);
[[nodiscard]] text_table bans_table(const object& bans);
[[nodiscard]] text_table overrides_table(const object& overrides);
[[nodiscard]] text_table refusals_table(const object& refusals);
// One row for each counter of a key.
[[nodiscard]] text_table keys_table(const object& keys);

}  // namespace penstock::cli
