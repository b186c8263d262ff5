#include "telemetry/catalogue.hpp"

#include <cstddef>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace penstock::telemetry {
namespace {

constexpr auto metric_total = static_cast<std::size_t>(metric::count_);

// Names, types and labels are interface: dashboards, alerts and other people's queries hold them.
TEST(Catalogue, NamesTypesAndLabelsStayWhatTheyAre) {
  std::ostringstream all;
  for (std::size_t i = 0; i < metric_total; ++i) {
    const description& d = describe(static_cast<metric>(i));
    constexpr const char* kinds[] = {"counter", "gauge", "histogram"};
    all << d.name << ' ' << kinds[static_cast<int>(d.kind)];
    for (const auto label : d.labels) {
      if (!label.empty()) all << ' ' << label;
    }
    all << '\n';
  }
  EXPECT_EQ(all.str(),
            "rate_limit_exceeded_total counter key_type endpoint\n"
            "penstock_decisions_total counter limit outcome\n"
            "penstock_checks_total counter limit verdict\n"
            "penstock_shadow_refusals_total counter limit\n"
            "penstock_requests_total counter outcome\n"
            "penstock_remembered_refusals_total counter\n"
            "penstock_store_errors_total counter kind\n"
            "penstock_connections_accepted_total counter listener\n"
            "penstock_connections_closed_total counter listener\n"
            "penstock_connections_refused_total counter listener\n"
            "penstock_idle_connections_closed_total counter\n"
            "penstock_accept_pauses_total counter\n"
            "penstock_tls_handshakes_failed_total counter reason\n"
            "penstock_malformed_requests_total counter\n"
            "penstock_requests_shed_total counter\n"
            "penstock_requests_unfinished_total counter reason\n"
            "penstock_upstream_requests_total counter result\n"
            "penstock_upstream_connections_total counter kind\n"
            "penstock_upstream_retries_total counter\n"
            "penstock_responses_total counter class\n"
            "penstock_access_log_lines_dropped_total counter\n"
            "penstock_access_log_write_errors_total counter\n"
            "penstock_reloads_total counter result\n"
            "penstock_bans_total counter origin\n"
            "penstock_admin_changes_total counter action\n"
            "penstock_admin_refusals_total counter reason\n"
            "rate_limit_check_duration_seconds histogram\n"
            "penstock_store_duration_seconds histogram\n"
            "penstock_upstream_duration_seconds histogram\n"
            "penstock_delay_seconds histogram\n"
            "penstock_build_info gauge version compiler\n"
            "penstock_start_time_seconds gauge\n"
            "penstock_workers gauge\n"
            "penstock_policy_generation gauge\n"
            "penstock_policy_limits gauge\n"
            "penstock_policy_loaded_timestamp_seconds gauge\n"
            "penstock_last_reload_successful gauge\n"
            "penstock_ready gauge\n"
            "penstock_store_up gauge\n"
            "penstock_store_breaker_open gauge\n"
            "penstock_table_entries gauge\n"
            "penstock_table_bytes gauge\n"
            "penstock_table_bytes_max gauge\n"
            "penstock_table_fill_ratio gauge\n"
            "penstock_table_evictions_total counter kind\n"
            "penstock_table_full_total counter\n"
            "redis_memory_used_bytes gauge\n"
            "penstock_bans_active gauge\n"
            "penstock_overrides_active gauge\n"
            "penstock_top_key_requests_ratio gauge\n"
            "penstock_top_key_refusals_ratio gauge\n"
            "penstock_connections_open gauge listener\n"
            "penstock_tls_handshakes_open gauge\n"
            "penstock_upstream_requests_open gauge\n"
            "penstock_upstream_connections_open gauge\n"
            "penstock_upstream_up gauge upstream\n"
            "penstock_metric_limits_overflowed_total counter\n"
            "penstock_resident_memory_bytes gauge\n"
            "penstock_cpu_seconds_total counter\n"
            "penstock_open_files gauge\n");
}

// The conventions that tools rely on: counters end in _total, nothing else does, and all is told.
TEST(Catalogue, FollowsTheNamingConventions) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < metric_total; ++i) {
    const description& d = describe(static_cast<metric>(i));
    EXPECT_TRUE(names.insert(d.name).second) << d.name;
    EXPECT_EQ(d.name.ends_with("_total"), d.kind == metric_kind::counter) << d.name;
    EXPECT_EQ(d.name.ends_with("_seconds") && d.kind != metric_kind::gauge,
              d.kind == metric_kind::histogram)
        << d.name;
    EXPECT_TRUE(std::regex_match(std::string(d.name), std::regex("[a-z][a-z_]*[a-z]"))) << d.name;
    EXPECT_TRUE(d.help.ends_with('.')) << d.name;
  }
}

// Who reads the page must find every metric, with its labels.
TEST(Catalogue, ThePageListsEveryMetric) {
  std::ifstream file(PENSTOCK_SOURCE_DIR "/docs/metrics.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (std::size_t i = 0; i < metric_total; ++i) {
    const description& d = describe(static_cast<metric>(i));
    constexpr const char* kinds[] = {"counter", "gauge", "histogram"};
    const std::string row =
        "| `" + std::string(d.name) + "` | " + kinds[static_cast<int>(d.kind)] + " | ";
    const std::size_t at = page.find(row);
    ASSERT_NE(at, std::string::npos) << d.name;
    const std::string line = page.substr(at, page.find('\n', at) - at);
    EXPECT_NE(line.find(d.help), std::string::npos) << d.name;
    for (const auto label : d.labels) {
      EXPECT_TRUE(label.empty() || line.find("`" + std::string(label) + "`") != std::string::npos)
          << d.name;
    }
  }
}

// Two tallies with one series would be a duplicate sample, which makes a scrape invalid.
TEST(Catalogue, EveryTallyIsItsOwnSeriesOfACounter) {
  std::set<std::pair<metric, std::string_view>> seen;
  for (std::size_t i = 0; i < static_cast<std::size_t>(tally::count_); ++i) {
    const tally_series& s = series_of(static_cast<tally>(i));
    const description& d = describe(s.of);
    EXPECT_TRUE(seen.insert({s.of, s.value}).second) << d.name << ' ' << s.value;
    EXPECT_EQ(d.kind, metric_kind::counter) << d.name;
    EXPECT_EQ(d.labels[0].empty(), s.value.empty()) << d.name;
    EXPECT_TRUE(d.labels[1].empty()) << d.name;
  }
}

}  // namespace
}  // namespace penstock::telemetry
