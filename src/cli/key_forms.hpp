// Which limits count by keys of a given form, for people who name a key as offenders show it.
#pragma once

#include <string_view>

#include "policy/spec.hpp"

namespace penstock::cli {

// Whether a key like "user:42+route#…" is one that `expression` writes (docs/reference/keys.md).
[[nodiscard]] bool writes_keys_like(const policy::key_expression& expression, std::string_view key);

}  // namespace penstock::cli
