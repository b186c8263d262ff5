// `penstock top`: what happens in a running penstock now. On a terminal it is drawn anew every few
// seconds until q or Ctrl-C; otherwise, or with --once or --json, it is printed once.
#pragma once

#include "cli/operator/operator_flags.hpp"

namespace penstock::cli {

// `place` instead of a client: a request under way ends when somebody quits.
int top_command(const admin_place& place, const operator_flags& flags);

}  // namespace penstock::cli
