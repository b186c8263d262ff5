// Flags and environment variables laid over a file. The names of the flags are fixed; every flag
// has its PENSTOCK_* twin, and a flag wins over its twin, both over the file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "config/issue.hpp"

namespace penstock::config {

// As given, unparsed. Absent or empty: not given.
struct overrides {
  std::optional<std::string> listen, store, decision_http, decision_grpc, decision_redis, admin,
      health, workers;
  std::vector<std::string> upstreams;  // not empty: replaces the file's list
  std::vector<std::string> limits;     // --limit: added to the file's limits
};

// PENSTOCK_LISTEN, _UPSTREAM (commas between), _LIMIT (semicolons between), _STORE, _DECISION_HTTP,
// _DECISION_GRPC, _DECISION_REDIS, _ADMIN, _HEALTH, _WORKERS. An empty variable counts as unset.
// `variable(name)` returns its value; absent: unset.
[[nodiscard]] overrides overrides_from_environment(
    const std::function<std::optional<std::string>(const char* name)>& variable);

// Where the values came from, for messages.
enum class override_source : bool { flags, environment };

// Parses and lays `o` over `c`. Problems name the flag or variable as their file and carry its text
// to point into (never that of a store, which may hold a secret). The whole is then checked again.
[[nodiscard]] std::vector<issue> apply_overrides(const overrides& o, override_source from,
                                                 config& c);

}  // namespace penstock::config
