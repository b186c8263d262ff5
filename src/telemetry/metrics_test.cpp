#include "telemetry/metrics.hpp"

#include <algorithm>
#include <atomic>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace penstock::telemetry {
namespace {

const hash128 secret{1, 2};

// The value of a series as it stands in the text; -1 when there is none.
double value_of(const std::string& text, const std::string& series) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(series + " ")) return std::stod(line.substr(series.size() + 1));
  }
  return -1;
}

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count(text, '\n'));
}

// What a refused request leaves behind, under the names that the field knows.
TEST(Metrics, ARefusedRequestMovesItsSeries) {
  metrics m(secret);
  const std::vector<limit_label> labels = {{"login", "address", "/login"}, {"all", "global", "*"}};
  const auto slots = m.limits().assign(labels);
  loop_metrics& l = m.add_loop();
  l.checked(slots[0], false);
  l.checked(slots[1], true);
  l.decided(slots[0], outcome::deny);
  l.check_duration.observe(std::chrono::microseconds{60});

  const std::string text = m.scrape();
  EXPECT_EQ(value_of(text, R"(rate_limit_exceeded_total{key_type="address",endpoint="/login"})"),
            1);
  EXPECT_EQ(value_of(text, R"(rate_limit_exceeded_total{key_type="global",endpoint="*"})"), 0);
  EXPECT_EQ(value_of(text, R"(penstock_decisions_total{limit="login",outcome="refused"})"), 1);
  EXPECT_EQ(value_of(text, R"(penstock_checks_total{limit="login",verdict="refused"})"), 1);
  EXPECT_EQ(value_of(text, R"(penstock_checks_total{limit="all",verdict="admitted"})"), 1);
  EXPECT_EQ(value_of(text, R"(penstock_requests_total{outcome="refused"})"), 1);
  EXPECT_EQ(value_of(text, R"(penstock_requests_total{outcome="allowed"})"), 0);
}

// A banned client's requests are refused requests of their limit, and counted once by outcome.
TEST(Metrics, ABannedRequestIsCountedOnce) {
  metrics m(secret);
  const std::vector<limit_label> labels = {{"login", "address", "/login"}};
  const slot s = m.limits().assign(labels).front();
  m.add_loop().refused_by_ban(s);
  const std::string text = m.scrape();
  EXPECT_EQ(value_of(text, R"(penstock_requests_total{outcome="banned"})"), 1);
  EXPECT_EQ(value_of(text, R"(penstock_requests_total{outcome="refused"})"), 0);
  EXPECT_EQ(value_of(text, R"(penstock_decisions_total{limit="login",outcome="refused"})"), 1);
  EXPECT_EQ(value_of(text, R"(rate_limit_exceeded_total{key_type="address",endpoint="/login"})"),
            1);
}

// What others count adds to a series; a second sample of it would break the scrape.
TEST(Metrics, CountersOfOthersJoinTheirSeries) {
  metrics m(secret);
  m.add_loop().add(tally::gateway_accepted, 2);
  m.add_counter(tally::gateway_accepted, [] { return std::uint64_t{40}; });
  m.add_counter(tally::gateway_closed, [] { return std::uint64_t{39}; });
  const std::string text = m.scrape();
  EXPECT_EQ(value_of(text, R"(penstock_connections_accepted_total{listener="gateway"})"), 42);
  EXPECT_EQ(value_of(text, R"(penstock_connections_open{listener="gateway"})"), 3);
}

// Buckets are cumulative, in seconds, and end in +Inf = count; the sum is in seconds too.
TEST(Metrics, DurationsAreCumulativeBucketsInSeconds) {
  metrics m(secret);
  loop_metrics& l = m.add_loop();
  for (const int us : {10, 11, 60, 20'000}) l.check_duration.observe(std::chrono::microseconds{us});
  const std::string text = m.scrape();
  const std::string name = "rate_limit_check_duration_seconds";
  EXPECT_NE(text.find("# TYPE " + name + " histogram\n"), std::string::npos);
  for (const auto& [le, want] : {std::pair{"1e-05", 1},
                                 {"5e-05", 2},
                                 {"0.0001", 3},
                                 {"0.0005", 3},
                                 {"0.001", 3},
                                 {"0.005", 3},
                                 {"0.01", 3},
                                 {"+Inf", 4}}) {
    EXPECT_EQ(value_of(text, name + "_bucket{le=\"" + le + "\"}"), want) << le;
  }
  EXPECT_EQ(value_of(text, name + "_count"), 4);
  EXPECT_DOUBLE_EQ(value_of(text, name + "_sum"), 0.020081);
}

// Text format rules that a scraper enforces: HELP and TYPE once, no series twice, last line ended.
TEST(Metrics, TheTextIsWellFormed) {
  metrics m(secret);
  m.add_loop();
  const std::vector<limit_label> labels = {{"quote\"back\\slash\nline", "header(X)", "/a"}};
  (void)m.limits().assign(labels);
  m.set(metric::store_up, 1);
  m.add_source([](exposition& out) { out.value(metric::build_info, 1.0, "0.1.0", "g++"); });
  const std::string text = m.scrape();
  std::set<std::string> seen;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::string head = line.starts_with('#') ? line : line.substr(0, line.rfind(' '));
    EXPECT_TRUE(seen.insert(head).second) << line;
  }
  EXPECT_TRUE(text.ends_with('\n'));
  EXPECT_NE(text.find(R"(limit="quote\"back\\slash\nline")"), std::string::npos);
  EXPECT_EQ(value_of(text, R"(penstock_build_info{version="0.1.0",compiler="g++"})"), 1);
  EXPECT_EQ(value_of(text, "penstock_store_up"), 1);
  EXPECT_EQ(text.find("redis_memory_used_bytes"), std::string::npos) << "was never set";
}

// Memory and series must not follow the clients (client_golang CVE-2022-21698).
TEST(Metrics, AMillionKeysLeaveTheSeriesAlone) {
  metrics m(secret);
  const std::vector<limit_label> labels = {{"a", "address", "*"}};
  const slot s = m.limits().assign(labels).front();
  loop_metrics& l = m.add_loop();
  const std::size_t before = lines_of(m.scrape());
  for (int i = 0; i < 1'000'000; ++i) {
    const instant now{std::chrono::microseconds{i * 100}};
    l.keys.add(ranking::requests, s, "k" + std::to_string(i), now);
    l.checked(s, true);
    l.decided(s, outcome::allow);
  }
  EXPECT_EQ(lines_of(m.scrape()), before);
}

// 1,100 limits are more than have series; the scrape keeps its bound and says how many.
TEST(Metrics, TheScrapeIsBoundedWhateverTheConfiguration) {
  metrics m(secret);
  std::vector<limit_label> many;
  for (int i = 0; i < 1100; ++i) {
    many.push_back({"limit-" + std::to_string(i), "address", "/" + std::to_string(i)});
  }
  (void)m.limits().assign(many);
  m.add_loop();
  const std::string text = m.scrape();
  EXPECT_LT(lines_of(text), series_max + 200);
  EXPECT_LE(text.size(), 1U << 20U);
  EXPECT_EQ(value_of(text, "penstock_metric_limits_overflowed_total"), 1100 - 1024);
}

// Every loop is its own writer; a scrape in between sees sums that only grow, and at the end all.
TEST(Metrics, LoopsCountWithoutLosingAnything) {
  metrics m(secret);
  const std::vector<limit_label> labels = {{"a", "address", "*"}};
  const slot s = m.limits().assign(labels).front();
  constexpr int each = 20'000;
  loop_metrics* const loops[] = {&m.add_loop(), &m.add_loop()};
  std::atomic<int> running{2};
  std::vector<std::thread> threads;
  for (loop_metrics* const l : loops) {
    threads.emplace_back([l, s, &running] {
      for (int i = 0; i < each; ++i) {
        l->checked(s, true);
        l->decided(s, outcome::allow);
        l->keys.add(ranking::requests, s, "k", instant{std::chrono::milliseconds{i}});
        l->refusals.add({.key = "k"});
      }
      --running;
    });
  }
  double last = 0;
  while (running > 0) {
    const double now = value_of(m.scrape(), R"(penstock_requests_total{outcome="allowed"})");
    EXPECT_GE(now, last);
    last = now;
    m.collect(instant{std::chrono::seconds{10}});
    (void)m.refusals(10);
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(value_of(m.scrape(), R"(penstock_requests_total{outcome="allowed"})"), 2 * each);
}

// A quantile from buckets is a bound that holds, not an estimate that may be too low.
TEST(HistogramSum, QuantilesAreUpperBounds) {
  histogram h(check_bounds());
  for (int i = 0; i < 99; ++i) h.observe(std::chrono::microseconds{20});
  h.observe(std::chrono::milliseconds{3});
  histogram_sum s;
  EXPECT_EQ(s.quantile(500).count(), 0);
  h.add_to(s);
  EXPECT_EQ(s.count(), 100U);
  EXPECT_EQ(s.quantile(500), std::chrono::microseconds{50});
  EXPECT_EQ(s.quantile(990), std::chrono::microseconds{50});
  EXPECT_EQ(s.quantile(999), std::chrono::milliseconds{5});
}

}  // namespace
}  // namespace penstock::telemetry
