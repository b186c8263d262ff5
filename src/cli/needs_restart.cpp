#include "cli/needs_restart.hpp"

namespace penstock::cli {
namespace {

bool logs(const config::gateway_config& g) {
  return g.access_log.mode != config::access_log_mode::off;
}

}  // namespace

std::vector<std::string> needs_restart(const config::config& running, const config::config& next) {
  std::vector<std::string> names;
  const auto differs = [&names](const auto& now, const auto& then, const char* name) {
    if (now != then) names.emplace_back(name);
  };
  differs(running.workers, next.workers, "workers");
  differs(running.store, next.store, "store");
  differs(running.policy.fleet_size, next.policy.fleet_size, "store.fleet_size");
  const auto& g = running.gateway;
  const auto& n = next.gateway;
  differs(g.listen, n.listen, "gateway.listen");
  differs(g.upstreams, n.upstreams, "gateway.upstream");
  differs(g.upstream_tls, n.upstream_tls, "gateway.upstream_tls");
  differs(g.max_in_flight, n.max_in_flight, "gateway.max_in_flight");
  // Each request in the making holds its own copy of these.
  differs(g.max_request_line, n.max_request_line, "gateway.max_request_line");
  differs(g.max_head, n.max_head, "gateway.max_head");
  differs(g.max_fields, n.max_fields, "gateway.max_fields");
  differs(g.tls.has_value(), n.tls.has_value(), "gateway.tls");
  differs(g.share_port, n.share_port, "gateway.share_port");
  // The log is opened, with its rings and its thread, at the start or never.
  differs(logs(g), logs(n), "gateway.access_log.mode");
  if (logs(g) && logs(n)) differs(g.access_log.path, n.access_log.path, "gateway.access_log.path");
  // Certificates are read anew; whether TLS is spoken is decided at the start.
  auto decision = next.decision;
  if (running.decision.tls && decision.tls) decision.tls = running.decision.tls;
  differs(running.decision, decision, "decision");
  differs(running.admin, next.admin, "admin");
  differs(running.health, next.health, "health");
  return names;
}

void take_live(config::config& running, const config::config& next) {
  auto& g = running.gateway;
  const auto& n = next.gateway;
  g.max_body = n.max_body;
  g.head_timeout = n.head_timeout;
  g.body_timeout = n.body_timeout;
  g.idle_timeout = n.idle_timeout;
  g.connect_timeout = n.connect_timeout;
  g.response_timeout = n.response_timeout;
  if (g.tls && n.tls) g.tls = n.tls;
  if (running.decision.tls && next.decision.tls) running.decision.tls = next.decision.tls;
  const std::string path = g.access_log.path;
  if (logs(g) && logs(n)) {
    g.access_log = n.access_log;
    g.access_log.path = path;
  } else if (!logs(g) && !logs(n)) {
    g.access_log = n.access_log;
  }
}

}  // namespace penstock::cli
