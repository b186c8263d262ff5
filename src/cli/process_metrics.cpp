#include "cli/process_metrics.hpp"

#include <array>
#include <functional>
#include <utility>

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
        if (const auto used = counters.remote_memory(); used > 0) {
          out.value(metric::redis_memory_used, static_cast<double>(used));
        }
      });
  if (!counters.remote()) return;
  using telemetry::tally;
  using cells = store::redis::redis_cells;
  for (const auto& [t, of] : {std::pair{tally::store_timeouts, &cells::timeouts},
                              std::pair{tally::store_disconnects, &cells::disconnects},
                              std::pair{tally::store_replies_unusable, &cells::unusable_answers},
                              std::pair{tally::store_skipped_by_breaker, &cells::skipped}}) {
    metrics.add_counter(t, [&counters, of = of] { return counters.sum(of); });
  }
}

void add_gateway_metrics(telemetry::metrics& metrics, const gateway::gateway& gateway) {
  using telemetry::tally;
  const auto add = [&](tally t, std::function<std::uint64_t(const gateway::gateway_counts&)> of) {
    metrics.add_counter(t, [&gateway, of = std::move(of)] { return of(gateway.counts()); });
  };
  add(tally::gateway_accepted, [](const auto& c) { return c.accepted; });
  add(tally::gateway_closed, [](const auto& c) { return c.closed; });
  add(tally::malformed_requests, [](const auto& c) { return c.malformed; });
  add(tally::upstream_answered, [](const auto& c) { return c.upstream_answered; });
  add(tally::upstream_connect_failed, [](const auto& c) { return c.upstream_refused; });
  add(tally::upstream_timed_out, [](const auto& c) { return c.upstream_timeouts; });
  add(tally::upstream_broke_off, [](const auto& c) { return c.upstream_broke_off; });
  add(tally::upstream_abandoned, [](const auto& c) { return c.upstream_abandoned; });
  add(tally::upstream_connections_new, [](const auto& c) { return c.upstream_new; });
  add(tally::upstream_connections_reused, [](const auto& c) { return c.upstream_reused; });
  constexpr std::array by_class = {tally::responses_1xx, tally::responses_2xx, tally::responses_3xx,
                                   tally::responses_4xx, tally::responses_5xx};
  for (std::size_t i = 0; i < by_class.size(); ++i) {
    add(by_class[i], [i](const auto& c) { return c.responses[i]; });
  }
  metrics.add_source([&gateway](auto& out) {
    using telemetry::metric;
    const gateway::gateway_counts c = gateway.counts();
    out.value(metric::idle_closed, c.idle_closed);
    out.value(metric::accept_pauses, c.accept_pauses);
    out.value(metric::handshakes_failed, c.handshakes_failed, "broken");
    out.value(metric::handshakes_failed, c.handshakes_cut, "made_room");
    out.value(metric::requests_shed, c.overloaded);
    out.value(metric::requests_unfinished, c.clients_gone, "client_left");
    out.value(metric::requests_unfinished, c.clients_cut, "client_too_slow");
    out.value(metric::upstream_retries, c.retries);
    out.value(metric::log_lines_dropped, c.log_lines_dropped);
    out.value(metric::log_write_errors, c.log_write_errors);
    out.value(metric::handshakes_open, c.handshakes);
    out.value(metric::upstream_requests_open, c.in_flight);
    out.value(metric::upstream_connections_open, c.upstream_connections);
    for (const auto& u : gateway.upstreams()) {
      out.value(metric::upstream_up, u.up ? 1.0 : 0.0, u.name);
    }
  });
}

}  // namespace penstock::cli
