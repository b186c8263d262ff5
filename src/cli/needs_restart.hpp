// What of a changed configuration cannot be changed while serving.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"

namespace penstock::cli {

// The keys whose new value takes effect at the next start, as the file spells them.
[[nodiscard]] std::vector<std::string> needs_restart(const config::config& now,
                                                     const config::config& next);

}  // namespace penstock::cli
