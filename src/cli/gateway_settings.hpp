// What the gateway is told, from what the configuration says.
#pragma once

#include <penstock/result.hpp>

#include "config/config.hpp"
#include "gateway/options.hpp"

namespace penstock::cli {

// Errors: invalid_config when there is nothing to forward to.
result<gateway::gateway_options> gateway_settings(const config::gateway_config& c);

}  // namespace penstock::cli
