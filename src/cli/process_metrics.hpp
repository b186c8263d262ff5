// What the metrics say of the process's table of counters and of its gateway: read when somebody
// asks.
#pragma once

#include "cli/stores.hpp"
#include "config/config.hpp"
#include "gateway/gateway.hpp"
#include "telemetry/metrics.hpp"

namespace penstock::cli {

// Registers the sources. The references must outlive the last scrape.
void add_table_metrics(telemetry::metrics& metrics, const config::config& c, stores& counters);
void add_gateway_metrics(telemetry::metrics& metrics, const gateway::gateway& gateway);

}  // namespace penstock::cli
