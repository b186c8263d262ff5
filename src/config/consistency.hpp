// What one key says must fit what another says: checked after everything is read, and again after
// flags are laid over the file.
#pragma once

#include <vector>

#include "config/config.hpp"
#include "config/issue.hpp"

namespace penstock::config {

// Appends errors only; see lint.hpp for what is allowed but doubtful.
void check_consistency(const config& c, std::vector<issue>& issues);

// Whether any alternative of the key uses `kind`.
[[nodiscard]] bool uses(const policy::key_expression& key, policy::key_kind kind) noexcept;

}  // namespace penstock::config
