#include "cli/needs_restart.hpp"

#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::cli {
namespace {

using config::config;
using names = std::vector<std::string>;

struct row {
  const char* name;
  std::function<void(config&)> change;
  names restart;  // empty: it is taken while serving
};

config running() {
  config c;
  c.gateway.listen = penstock::config::listen_address{.host = "127.0.0.1", .port = 8080};
  c.gateway.upstreams.emplace_back();
  c.gateway.tls.emplace();
  c.decision.tls.emplace();
  c.gateway.access_log.mode = penstock::config::access_log_mode::all;
  return c;
}

// An operator who is told that a restart is needed restarts; one who is not told waits for a change
// that never comes. So each key is either taken or named, and none is both.
TEST(NeedsRestart, NamesExactlyTheKeysThatAreNotTaken) {
  using penstock::config::access_log_mode;
  const row rows[] = {
      {"nothing", [](config&) {}, {}},
      {"workers", [](config& c) { c.workers = 7; }, {"workers"}},
      {"store", [](config& c) { c.store.prefix = "x"; }, {"store"}},
      {"fleet size", [](config& c) { c.policy.fleet_size = 9; }, {"store.fleet_size"}},
      {"listen", [](config& c) { c.gateway.listen->port = 1; }, {"gateway.listen"}},
      {"upstream", [](config& c) { c.gateway.upstreams.emplace_back(); }, {"gateway.upstream"}},
      {"upstream tls",
       [](config& c) { c.gateway.upstream_tls.verify = false; },
       {"gateway.upstream_tls"}},
      {"request line",
       [](config& c) { c.gateway.max_request_line = 99; },
       {"gateway.max_request_line"}},
      {"head", [](config& c) { c.gateway.max_head = 999; }, {"gateway.max_head"}},
      {"fields", [](config& c) { c.gateway.max_fields = 9; }, {"gateway.max_fields"}},
      {"in flight", [](config& c) { c.gateway.max_in_flight = 9; }, {"gateway.max_in_flight"}},
      {"tls off", [](config& c) { c.gateway.tls.reset(); }, {"gateway.tls"}},
      {"share port", [](config& c) { c.gateway.share_port = true; }, {"gateway.share_port"}},
      {"log off",
       [](config& c) { c.gateway.access_log.mode = access_log_mode::off; },
       {"gateway.access_log.mode"}},
      {"log path", [](config& c) { c.gateway.access_log.path = "x"; }, {"gateway.access_log.path"}},
      {"decision", [](config& c) { c.decision.token_sha256 = "x"; }, {"decision"}},
      {"decision tls off", [](config& c) { c.decision.tls.reset(); }, {"decision"}},
      {"admin", [](config& c) { c.admin.token = "x"; }, {"admin"}},
      {"health", [](config& c) { c.health.listen.emplace(); }, {"health"}},
      {"two",
       [](config& c) {
         c.workers = 7;
         c.gateway.max_head = 9;
       },
       {"workers", "gateway.max_head"}},

      {"body size", [](config& c) { c.gateway.max_body = 5; }, {}},
      {"head timeout", [](config& c) { c.gateway.head_timeout = duration{5}; }, {}},
      {"body timeout", [](config& c) { c.gateway.body_timeout = duration{5}; }, {}},
      {"idle timeout", [](config& c) { c.gateway.idle_timeout = duration{5}; }, {}},
      {"connect timeout", [](config& c) { c.gateway.connect_timeout = duration{5}; }, {}},
      {"response timeout", [](config& c) { c.gateway.response_timeout = duration{5}; }, {}},
      {"certificate", [](config& c) { c.gateway.tls->first.certificate = "x"; }, {}},
      {"names", [](config& c) { c.gateway.tls->sni.emplace_back(); }, {}},
      {"tls version",
       [](config& c) { c.gateway.tls->least = penstock::config::tls_least::v1_3; },
       {}},
      {"handshake", [](config& c) { c.gateway.tls->handshake_timeout = duration{5}; }, {}},
      {"decision certificate", [](config& c) { c.decision.tls->first.certificate = "x"; }, {}},
      {"log mode", [](config& c) { c.gateway.access_log.mode = access_log_mode::refused; }, {}},
      {"log sample", [](config& c) { c.gateway.access_log.sample = 5; }, {}},
      {"log lines", [](config& c) { c.gateway.access_log.max_lines = 5; }, {}},
  };
  for (const auto& r : rows) {
    config now = running();
    config next = running();
    r.change(next);
    EXPECT_EQ(needs_restart(now, next), r.restart) << r.name;
    take_live(now, next);
    EXPECT_EQ(needs_restart(now, next), r.restart) << r.name << ", taken";
    if (r.restart.empty()) {
      EXPECT_EQ(now.gateway, next.gateway) << r.name;
      EXPECT_EQ(now.decision, next.decision) << r.name;
    } else {
      EXPECT_EQ(now.gateway, running().gateway) << r.name;
    }
  }
}

// A value that is taken must not bring one along that is not.
TEST(NeedsRestart, TakesTheLiveHalfOfAMixedChange) {
  config now = running();
  config next = running();
  next.gateway.access_log.path = "elsewhere";
  next.gateway.access_log.sample = 7;
  next.gateway.max_head = 9;
  next.gateway.max_body = 9;
  take_live(now, next);
  EXPECT_EQ(now.gateway.access_log.path, running().gateway.access_log.path);
  EXPECT_EQ(now.gateway.access_log.sample, 7);
  EXPECT_EQ(now.gateway.max_body, 9);
  EXPECT_EQ(now.gateway.max_head, running().gateway.max_head);
}

}  // namespace
}  // namespace penstock::cli
