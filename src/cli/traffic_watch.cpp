#include "cli/traffic_watch.hpp"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <utility>

#include "service/shared_addresses.hpp"
#include "telemetry/fleet_offenders.hpp"

namespace penstock::cli {
namespace {

constexpr duration look_interval = std::chrono::seconds{10};

}  // namespace

traffic_watch::traffic_watch(telemetry::metrics& metrics, stores& counters, instant now)
    : metrics_(metrics), counters_(counters), next_look_(now + look_interval) {
  tell_top_shares(now);
}

void traffic_watch::look(instant now) {
  if (now < next_look_) return;
  next_look_ = now + look_interval;
  metrics_.collect(now);
  tell_top_shares(now);
  if (counters_.remote()) post_top_keys(now);
  if (!shared_addresses_said_) warn_of_shared_addresses(now);
}

// How much of the last minute's traffic, and of its refusals, is one key's.
void traffic_watch::tell_top_shares(instant now) {
  using telemetry::metric, telemetry::ranking;
  for (const auto& [by, level] : {std::pair{ranking::requests, metric::top_requests_ratio},
                                  std::pair{ranking::refusals, metric::top_refusals_ratio}}) {
    const auto report = metrics_.top(by, telemetry::window::minute, 1, now);
    const bool any = !report.top.empty() && report.total > 0;
    metrics_.set(level, any ? static_cast<double>(report.top.front().at_least) /
                                  static_cast<double>(report.total)
                            : 0);
  }
}

void traffic_watch::post_top_keys(instant now) {
  telemetry::process_offenders of;
  for (std::size_t r = 0; r < telemetry::rankings; ++r) {
    for (std::size_t w = 0; w < telemetry::windows; ++w) {
      const auto report = metrics_.top(static_cast<telemetry::ranking>(r),
                                       static_cast<telemetry::window>(w), SIZE_MAX, now);
      of[r][w] = telemetry::named(report, metrics_.limits());
    }
  }
  counters_.post(telemetry::write_offenders(of));
}

// A fleet of clients behind few addresses is most often a proxy that is not in trusted_proxies.
// Said once, since it stays true.
void traffic_watch::warn_of_shared_addresses(instant now) {
  const auto report =
      metrics_.top(telemetry::ranking::requests, telemetry::window::minute, SIZE_MAX, now);
  const auto found = service::find_shared_addresses(report);
  if (!found) return;
  shared_addresses_said_ = true;
  std::fprintf(stderr, "penstock: warning: %s\n", service::describe(*found).c_str());
}

}  // namespace penstock::cli
