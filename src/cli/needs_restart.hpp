// What of a changed configuration can be taken while serving, and what cannot. Policy (limits,
// client, identity …) is not its business: it is replaced whole.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"

namespace penstock::cli {

// The keys whose new value takes effect at the next start, as the file spells them.
[[nodiscard]] std::vector<std::string> needs_restart(const config::config& running,
                                                     const config::config& next);

// Takes from `next` what can be changed while serving. Every key that differs afterwards is named
// by needs_restart().
void take_live(config::config& running, const config::config& next);

}  // namespace penstock::cli
