// The commands that change a running penstock. Each makes one change, says in one line what was
// done, and stands in the daemon's audit log.
#pragma once

#include "cli/operator/operator_flags.hpp"

namespace penstock::cli {

int reset_command(const admin_client& admin, const operator_flags& flags);
int ban_command(const admin_client& admin, const operator_flags& flags);
int unban_command(const admin_client& admin, const operator_flags& flags);
// Another quota for a time, or the end of it.
int override_command(const admin_client& admin, const operator_flags& flags);
int reload_command(const admin_client& admin, const operator_flags& flags);

}  // namespace penstock::cli
