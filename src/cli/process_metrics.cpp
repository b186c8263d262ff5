#include "cli/process_metrics.hpp"

#include <functional>

namespace penstock::cli {

void add_table_metrics(telemetry::metrics& metrics, const config::config& c, stores& counters) {
  using telemetry::metric;
  metrics.add_source(
      [&counters, max_bytes = static_cast<double>(c.store.memory.max_bytes)](auto& out) {
        const auto table = counters.memory().stats();
        const auto bytes = static_cast<double>(table.bytes);
        out.value(metric::build_info, 1.0, PENSTOCK_VERSION, "gcc " __VERSION__);
        out.value(metric::table_entries, static_cast<double>(table.entries));
        out.value(metric::table_bytes, bytes);
        out.value(metric::table_bytes_max, max_bytes);
        out.value(metric::table_fill, bytes / max_bytes);
        out.value(metric::table_evictions, table.evicted_live, "live");
        out.value(metric::table_evictions, table.evicted_expired, "full");
        out.value(metric::table_full, table.table_full);
      });
}

void add_gateway_metrics(telemetry::metrics& metrics, const gateway::gateway& gateway) {
  using telemetry::tally;
  const auto add = [&](tally t, std::function<std::uint64_t(const gateway::gateway_counts&)> of) {
    metrics.add_counter(t, [&gateway, of = std::move(of)] { return of(gateway.counts()); });
  };
  add(tally::gateway_accepted, [](const auto& c) { return c.accepted; });
  add(tally::gateway_closed, [](const auto& c) { return c.accepted - c.connections; });
  add(tally::malformed_requests, [](const auto& c) { return c.malformed; });
  add(tally::upstream_timed_out, [](const auto& c) { return c.upstream_timeouts; });
  add(tally::upstream_connect_failed, [](const auto& c) { return c.upstream_errors; });
  add(tally::upstream_answered, [](const auto& c) {
    const auto lost = c.upstream_errors + c.upstream_timeouts + c.in_flight;
    return c.forwarded > lost ? c.forwarded - lost : 0;
  });
}

}  // namespace penstock::cli
