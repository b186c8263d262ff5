// What the decision service is told, from what the configuration says.
#pragma once

#include <optional>

#include "config/config.hpp"
#include "decision/options.hpp"

namespace penstock::cli {

// Precondition: c.http is set. `metrics` must outlive the server.
decision::server_options decision_settings(const config::decision_config& c,
                                           telemetry::metrics& metrics);

// Its part about TLS, for a reload.
std::optional<decision::tls_options> decision_tls(const config::decision_config& c);

}  // namespace penstock::cli
