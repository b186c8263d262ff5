// What is allowed but most likely not meant. Warnings only; a configuration with lints serves.
#pragma once

#include <vector>

#include "config/config.hpp"
#include "config/issue.hpp"

namespace penstock::config {

// In line order. Precondition: `c` has no errors.
[[nodiscard]] std::vector<issue> lint(const config& c);

// Whether `other` refuses in every case in which `limit` would: then `limit` never decides
// anything. Answers false when it cannot be shown from the numbers alone.
[[nodiscard]] bool always_stricter(const policy::limit_spec& other,
                                   const policy::limit_spec& limit);

}  // namespace penstock::config
