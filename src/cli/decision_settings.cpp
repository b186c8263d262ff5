#include "cli/decision_settings.hpp"

#include <chrono>

#include "cli/tls_settings.hpp"

namespace penstock::cli {
namespace {

decision::belief belief_of(config::original_headers h) {
  switch (h) {
    case config::original_headers::always:
      return decision::belief::always;
    case config::original_headers::never:
      return decision::belief::never;
    case config::original_headers::local:
      break;
  }
  return decision::belief::local;
}

}  // namespace

std::optional<decision::tls_options> decision_tls(const config::decision_config& c) {
  if (!c.tls) return std::nullopt;
  return decision::tls_options{
      .server = tls_settings(*c.tls),
      .handshake_timeout = std::chrono::ceil<std::chrono::milliseconds>(c.tls->handshake_timeout)};
}

decision::server_options decision_settings(const config::decision_config& c,
                                           telemetry::metrics& metrics) {
  decision::server_options o{
      .listen = {.host = c.http->host, .port = c.http->port, .unix_path = c.http->unix_path},
      .believe = belief_of(c.believe_original),
      .counts = &metrics,
      .token = parse_sha256(c.token_sha256)};
  o.tls = decision_tls(c);
  return o;
}

}  // namespace penstock::cli
