// `status` and `inspect`: they read and change nothing. Results on standard output.
#pragma once

#include "cli/operator/operator_flags.hpp"

namespace penstock::cli {

// exit_failure also when the process says that it is not ready.
int status_command(const admin_client& admin, const operator_flags& flags);

// What is counted for a key and its latest refusals, or the latest refusals of a client.
int inspect_command(const admin_client& admin, const operator_flags& flags);

}  // namespace penstock::cli
