// Every metric that Penstock exports: its name, type, labels and help. The names are interface: a
// test pins them and docs/metrics.md lists them. Label values come from the configuration or from
// the tables below, never from a request, so that the number of series does not depend on traffic.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace penstock::telemetry {

enum class metric : std::uint8_t {
  // Counted by loops, by limit.
  exceeded,
  decisions,
  checks,
  shadow_refusals,
  // Counted by loops, see `tally`.
  requests,
  remembered_refusals,
  store_errors,
  connections_accepted,
  connections_closed,
  connections_refused,
  idle_closed,
  accept_pauses,
  handshakes_failed,
  malformed_requests,
  requests_shed,
  requests_unfinished,
  upstream_requests,
  upstream_connections,
  upstream_retries,
  responses,
  log_lines_dropped,
  log_write_errors,
  reloads,
  bans,
  admin_changes,
  admin_refusals,
  // Durations.
  check_duration,
  store_duration,
  upstream_duration,
  delay,
  // Set by whoever knows them, see metrics::set.
  build_info,
  start_time,
  workers,
  policy_generation,
  policy_limits,
  policy_loaded,
  reload_ok,
  ready,
  store_up,
  breaker_open,
  table_entries,
  table_bytes,
  table_bytes_max,
  table_fill,
  table_evictions,
  table_full,
  redis_memory_used,
  bans_active,
  overrides_active,
  top_requests_ratio,
  top_refusals_ratio,
  connections_open,
  handshakes_open,
  upstream_requests_open,
  upstream_connections_open,
  upstream_up,
  limits_overflowed,
  resident_memory,
  cpu_seconds,
  open_files,
  count_
};

enum class metric_kind : std::uint8_t { counter, gauge, histogram };

struct description {
  std::string_view name;
  metric_kind kind;
  std::array<std::string_view, 2> labels;  // empty: no label
  std::string_view help;
};

[[nodiscard]] const description& describe(metric m) noexcept;

// The series of counters whose label values are known beforehand. Each exists from the start with
// value 0, so that a rate over its first increment is seen.
enum class tally : std::uint8_t {
  // One for each request. The first five are counted by loop_metrics::decided.
  requests_allowed,
  requests_delayed,
  requests_refused,
  requests_degraded_allowed,
  requests_degraded_refused,
  requests_exempt,
  requests_blocked,
  requests_banned,
  requests_bad,
  remembered_refusals,
  store_timeouts,
  store_disconnects,
  store_replies_unusable,
  store_skipped_by_breaker,
  gateway_accepted,
  gateway_closed,
  gateway_refused,
  decision_accepted,
  decision_closed,
  decision_refused,
  admin_accepted,
  admin_closed,
  admin_refused,
  health_accepted,
  health_closed,
  health_refused,
  malformed_requests,
  upstream_answered,
  upstream_connect_failed,
  upstream_timed_out,
  upstream_broke_off,
  upstream_abandoned,
  upstream_connections_new,
  upstream_connections_reused,
  responses_1xx,
  responses_2xx,
  responses_3xx,
  responses_4xx,
  responses_5xx,
  reloads_applied,
  reloads_rejected,
  bans_by_limit,
  bans_by_operator,
  admin_reset,
  admin_ban,
  admin_unban,
  admin_override,
  admin_reload,
  admin_wrong_token,
  admin_too_many_failures,
  admin_wrong_host,
  admin_cross_site,
  count_
};

struct tally_series {
  metric of;
  std::string_view value;  // of the metric's first label; empty when it has none
};

[[nodiscard]] const tally_series& series_of(tally t) noexcept;

}  // namespace penstock::telemetry
