// The gauges that describe the process as a whole, set anew for each scrape: readiness, policy,
// store, bans, and what the system says of the process (Linux: /proc/self).
#pragma once

#include "admin/operations.hpp"
#include "telemetry/metrics.hpp"

namespace penstock::admin {

// On the admin loop. What cannot be read stays as it was.
void set_levels(telemetry::metrics& counts, operations& asks);

}  // namespace penstock::admin
