#include "cli/gateway_settings.hpp"

#include <chrono>
#include <utility>

#include "cli/tls_settings.hpp"
#include "policy/address_set.hpp"

namespace penstock::cli {
namespace {

std::chrono::milliseconds milliseconds(duration d) {
  return std::chrono::ceil<std::chrono::milliseconds>(d);
}

gateway::access_log_mode log_mode(config::access_log_mode mode) {
  switch (mode) {
    case config::access_log_mode::all:
      return gateway::access_log_mode::all;
    case config::access_log_mode::sampled:
      return gateway::access_log_mode::sampled;
    case config::access_log_mode::refused:
      return gateway::access_log_mode::refused;
    case config::access_log_mode::off:
      break;
  }
  return gateway::access_log_mode::off;
}

}  // namespace

result<gateway::gateway_options> gateway_settings(const config::gateway_config& c,
                                                  const policy::client_spec& client) {
  gateway::gateway_options o;
  const auto listen = c.listen.value_or(config::listen_address{.host = "127.0.0.1", .port = 8080});
  o.listen.push_back({.host = listen.host, .port = listen.port, .unix_path = listen.unix_path});
  for (const auto& url : c.upstreams) {
    o.upstreams.push_back(
        {.where = {.host = url.at.host, .port = url.at.port, .unix_path = url.unix_path},
         .authority = url.unix_path.empty() ? config::to_text(url.at) : "localhost",
         .tls = url.tls});
  }
  o.request_line_max = static_cast<std::size_t>(c.max_request_line);
  o.head_max = static_cast<std::size_t>(c.max_head);
  o.fields_max = static_cast<std::size_t>(c.max_fields);
  o.in_flight_max = static_cast<std::size_t>(c.max_in_flight);
  if (c.max_body != config::unlimited_bytes) o.body_max = static_cast<std::uint64_t>(c.max_body);
  o.head_timeout = milliseconds(c.head_timeout);
  o.body_grace = milliseconds(c.body_timeout);
  o.idle_timeout = milliseconds(c.idle_timeout);
  o.connect_timeout = milliseconds(c.connect_timeout);
  o.response_timeout = milliseconds(c.response_timeout);
  if (c.tls) {
    o.tls = tls_settings(*c.tls);
    o.handshake_timeout = milliseconds(c.tls->handshake_timeout);
  }
  o.upstream_tls = {.ca_file = c.upstream_tls.ca, .verify = c.upstream_tls.verify};
  o.share_port = c.share_port;
  o.access_log = {.mode = log_mode(c.access_log.mode),
                  .path = c.access_log.path,
                  .sample = static_cast<std::uint64_t>(c.access_log.sample),
                  .lines_max = static_cast<std::uint64_t>(c.access_log.max_lines)};
  if (client.address_from == policy::address_source::proxy_protocol) {
    auto trusted = policy::address_set::parse(client.trusted_proxies);
    if (!trusted) return trusted.error();
    o.proxy_protocol_from = [set = std::move(*trusted)](const policy::address& peer) {
      return set.contains(peer);
    };
  }
  return o;
}

}  // namespace penstock::cli
