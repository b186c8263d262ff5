// What a listener is told about TLS, from what the configuration says.
#pragma once

#include "config/config.hpp"
#include "net/tls.hpp"

namespace penstock::cli {

net::tls_server_options tls_settings(const config::tls_config& c);

}  // namespace penstock::cli
