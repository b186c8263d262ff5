// What the gateway is told, from what the configuration says.
#pragma once

#include <penstock/result.hpp>

#include "config/config.hpp"
#include "gateway/options.hpp"

namespace penstock::cli {

// Precondition: there are upstreams. Errors: invalid_config (a trusted proxy that is no network).
result<gateway::gateway_options> gateway_settings(const config::gateway_config& c,
                                                  const policy::client_spec& client);

}  // namespace penstock::cli
