#include "telemetry/catalogue.hpp"

#include <cstddef>

namespace penstock::telemetry {
namespace {

using enum metric_kind;

struct row {
  metric id;
  description what;
};

constexpr row rows[] = {
    {metric::exceeded,
     {"rate_limit_exceeded_total",
      counter,
      {"key_type", "endpoint"},
      "Refused requests, by key expression and path of the limit that is reported."}},
    {metric::decisions,
     {"penstock_decisions_total",
      counter,
      {"limit", "outcome"},
      "Requests by outcome, counted once, for the limit that is reported to the client."}},
    {metric::checks,
     {"penstock_checks_total",
      counter,
      {"limit", "verdict"},
      "Checks of enforcing limits; a request counts once for each limit that matches it."}},
    {metric::shadow_refusals,
     {"penstock_shadow_refusals_total",
      counter,
      {"limit"},
      "Requests that a limit in shadow mode would have refused."}},
    {metric::requests,
     {"penstock_requests_total", counter, {"outcome"}, "Requests by what became of them."}},
    {metric::remembered_refusals,
     {"penstock_remembered_refusals_total",
      counter,
      {},
      "Refusals answered from memory without asking the store again."}},
    {metric::store_errors,
     {"penstock_store_errors_total", counter, {"kind"}, "Checks that the store did not answer."}},
    {metric::connections_accepted,
     {"penstock_connections_accepted_total", counter, {"listener"}, "Connections accepted."}},
    {metric::connections_closed,
     {"penstock_connections_closed_total",
      counter,
      {"listener"},
      "Accepted connections that ended."}},
    {metric::connections_refused,
     {"penstock_connections_refused_total",
      counter,
      {"listener"},
      "Connections closed at once because a bound was reached."}},
    {metric::malformed_requests,
     {"penstock_malformed_requests_total",
      counter,
      {},
      "Messages that were no valid HTTP and were refused before any limit saw them."}},
    {metric::upstream_requests,
     {"penstock_upstream_requests_total", counter, {"result"}, "Requests sent to upstreams."}},
    {metric::upstream_connections,
     {"penstock_upstream_connections_total",
      counter,
      {"kind"},
      "Connections to upstreams that requests were sent on."}},
    {metric::responses,
     {"penstock_responses_total", counter, {"class"}, "The gateway's responses by status class."}},
    {metric::reloads,
     {"penstock_reloads_total", counter, {"result"}, "Attempts to load a changed policy."}},
    {metric::bans, {"penstock_bans_total", counter, {"origin"}, "Keys banned."}},
    {metric::admin_changes,
     {"penstock_admin_changes_total", counter, {"action"}, "Changes made through the admin API."}},
    {metric::admin_refusals,
     {"penstock_admin_refusals_total",
      counter,
      {"reason"},
      "Admin requests that were turned away."}},
    {metric::check_duration,
     {"rate_limit_check_duration_seconds",
      histogram,
      {},
      "Time from a request's head to its decision, the store included."}},
    {metric::store_duration,
     {"penstock_store_duration_seconds", histogram, {}, "Time a remote store took to answer."}},
    {metric::upstream_duration,
     {"penstock_upstream_duration_seconds",
      histogram,
      {},
      "Time from a request's sending to the head of the upstream's response."}},
    {metric::delay,
     {"penstock_delay_seconds", histogram, {}, "Delays imposed on requests by queues."}},
    {metric::build_info,
     {"penstock_build_info", gauge, {"version", "compiler"}, "1, with what is running as labels."}},
    {metric::start_time,
     {"penstock_start_time_seconds", gauge, {}, "Start of the process since the Unix epoch."}},
    {metric::workers, {"penstock_workers", gauge, {}, "Event loops that serve requests."}},
    {metric::policy_generation,
     {"penstock_policy_generation",
      gauge,
      {},
      "1 for the policy of the start, one more for each that was loaded since."}},
    {metric::policy_limits, {"penstock_policy_limits", gauge, {}, "Limits of the policy."}},
    {metric::policy_loaded,
     {"penstock_policy_loaded_timestamp_seconds",
      gauge,
      {},
      "When the policy in use was loaded, since the Unix epoch."}},
    {metric::reload_ok,
     {"penstock_last_reload_successful",
      gauge,
      {},
      "0 while the file on disk is not what is running because it was rejected."}},
    {metric::ready, {"penstock_ready", gauge, {}, "1 when /readyz answers 200."}},
    {metric::store_up, {"penstock_store_up", gauge, {}, "1 when the store answers."}},
    {metric::breaker_open,
     {"penstock_store_breaker_open",
      gauge,
      {},
      "1 while the store is not asked because it failed too often."}},
    {metric::table_entries,
     {"penstock_table_entries", gauge, {}, "Counters in this process's table."}},
    {metric::table_bytes,
     {"penstock_table_bytes", gauge, {}, "Memory of this process's table of counters."}},
    {metric::table_bytes_max,
     {"penstock_table_bytes_max",
      gauge,
      {},
      "Bound of penstock_table_bytes (store.memory.max_bytes)."}},
    {metric::table_fill,
     {"penstock_table_fill_ratio", gauge, {}, "Share of the table's places in use, 0 to 1."}},
    {metric::table_evictions,
     {"penstock_table_evictions_total",
      counter,
      {"kind"},
      "Counters that gave way to others: `live` ones granted their units again."}},
    {metric::table_full,
     {"penstock_table_full_total",
      counter,
      {},
      "Requests refused because the table held nothing but keys that are being refused."}},
    {metric::redis_memory_used,
     {"redis_memory_used_bytes", gauge, {}, "used_memory of the store, from its INFO."}},
    {metric::bans_active, {"penstock_bans_active", gauge, {}, "Keys that are banned now."}},
    {metric::overrides_active,
     {"penstock_overrides_active", gauge, {}, "Overrides of limits in force."}},
    {metric::connections_open,
     {"penstock_connections_open", gauge, {"listener"}, "Connections open now."}},
    {metric::upstream_up,
     {"penstock_upstream_up", gauge, {"upstream"}, "1 when the latest connection to it worked."}},
    {metric::limits_overflowed,
     {"penstock_metric_limits_overflowed_total",
      counter,
      {},
      "Limits without series of their own, counted as \"other\" beyond 1024 limits."}},
    {metric::resident_memory,
     {"penstock_resident_memory_bytes", gauge, {}, "Resident memory of the process."}},
    {metric::cpu_seconds,
     {"penstock_cpu_seconds_total", counter, {}, "User and system time of the process."}},
    {metric::open_files, {"penstock_open_files", gauge, {}, "Open file descriptors."}},
};

struct tally_row {
  tally id;
  tally_series what;
};

constexpr tally_row tally_rows[] = {
    {tally::requests_allowed, {metric::requests, "allowed"}},
    {tally::requests_delayed, {metric::requests, "delayed"}},
    {tally::requests_refused, {metric::requests, "refused"}},
    {tally::requests_degraded_allowed, {metric::requests, "degraded_allowed"}},
    {tally::requests_degraded_refused, {metric::requests, "degraded_refused"}},
    {tally::requests_exempt, {metric::requests, "exempt"}},
    {tally::requests_blocked, {metric::requests, "blocked"}},
    {tally::requests_banned, {metric::requests, "banned"}},
    {tally::requests_bad, {metric::requests, "bad_request"}},
    {tally::remembered_refusals, {metric::remembered_refusals, ""}},
    {tally::store_timeouts, {metric::store_errors, "timeout"}},
    {tally::store_disconnects, {metric::store_errors, "connection"}},
    {tally::store_replies_unusable, {metric::store_errors, "reply"}},
    {tally::store_skipped_by_breaker, {metric::store_errors, "breaker"}},
    {tally::gateway_accepted, {metric::connections_accepted, "gateway"}},
    {tally::gateway_closed, {metric::connections_closed, "gateway"}},
    {tally::gateway_refused, {metric::connections_refused, "gateway"}},
    {tally::decision_accepted, {metric::connections_accepted, "decision"}},
    {tally::decision_closed, {metric::connections_closed, "decision"}},
    {tally::decision_refused, {metric::connections_refused, "decision"}},
    {tally::admin_accepted, {metric::connections_accepted, "admin"}},
    {tally::admin_closed, {metric::connections_closed, "admin"}},
    {tally::admin_refused, {metric::connections_refused, "admin"}},
    {tally::health_accepted, {metric::connections_accepted, "health"}},
    {tally::health_closed, {metric::connections_closed, "health"}},
    {tally::health_refused, {metric::connections_refused, "health"}},
    {tally::malformed_requests, {metric::malformed_requests, ""}},
    {tally::upstream_answered, {metric::upstream_requests, "answered"}},
    {tally::upstream_connect_failed, {metric::upstream_requests, "connect_failed"}},
    {tally::upstream_timed_out, {metric::upstream_requests, "timed_out"}},
    {tally::upstream_broke_off, {metric::upstream_requests, "broke_off"}},
    {tally::upstream_connections_new, {metric::upstream_connections, "new"}},
    {tally::upstream_connections_reused, {metric::upstream_connections, "reused"}},
    {tally::responses_1xx, {metric::responses, "1xx"}},
    {tally::responses_2xx, {metric::responses, "2xx"}},
    {tally::responses_3xx, {metric::responses, "3xx"}},
    {tally::responses_4xx, {metric::responses, "4xx"}},
    {tally::responses_5xx, {metric::responses, "5xx"}},
    {tally::reloads_applied, {metric::reloads, "applied"}},
    {tally::reloads_rejected, {metric::reloads, "rejected"}},
    {tally::bans_by_limit, {metric::bans, "limit"}},
    {tally::bans_by_operator, {metric::bans, "operator"}},
    {tally::admin_reset, {metric::admin_changes, "reset"}},
    {tally::admin_ban, {metric::admin_changes, "ban"}},
    {tally::admin_unban, {metric::admin_changes, "unban"}},
    {tally::admin_override, {metric::admin_changes, "override"}},
    {tally::admin_reload, {metric::admin_changes, "reload"}},
    {tally::admin_wrong_token, {metric::admin_refusals, "token"}},
    {tally::admin_too_many_failures, {metric::admin_refusals, "too_many_failures"}},
    {tally::admin_wrong_host, {metric::admin_refusals, "host"}},
    {tally::admin_cross_site, {metric::admin_refusals, "cross_site"}},
};

// Both tables are indexed by their enumeration; a row out of place does not compile.
template <class Rows>
consteval bool in_order(const Rows& table) {
  std::size_t i = 0;
  for (const auto& r : table) {
    if (static_cast<std::size_t>(r.id) != i++) return false;
  }
  return true;
}
static_assert(in_order(rows) && std::size(rows) == static_cast<std::size_t>(metric::count_));
static_assert(in_order(tally_rows) &&
              std::size(tally_rows) == static_cast<std::size_t>(tally::count_));

}  // namespace

const description& describe(metric m) noexcept {
  return rows[static_cast<std::size_t>(m)].what;
}

const tally_series& series_of(tally t) noexcept {
  return tally_rows[static_cast<std::size_t>(t)].what;
}

}  // namespace penstock::telemetry
