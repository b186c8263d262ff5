#include "service/shared_addresses.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "telemetry/metrics.hpp"

namespace penstock::service {
namespace {

using telemetry::key_count;
using telemetry::offender_report;
using telemetry::slot;

key_count entry(slot limit, std::string key, std::uint64_t requests) {
  return {.limit = limit, .key = std::move(key), .at_least = requests, .at_most = requests};
}

std::vector<key_count> alike(std::size_t count, std::uint64_t requests) {
  std::vector<key_count> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(entry(0, "address:192.0.2." + std::to_string(i), requests));
  }
  return all;
}

struct row {
  const char* name;
  std::vector<key_count> top;
  std::uint64_t total;
  std::vector<std::string> want;  // addresses; none: nothing is found
};

// A warning that cries wolf is switched off; one that keeps silent costs the operator a day.
TEST(SharedAddresses, AreFoundWhenAFewMakeMostRequests) {
  const row rows[] = {
      {"nothing was counted", {}, 0, {}},
      {"one proxy", {entry(0, "address:10.0.0.7", 900)}, 1000, {"10.0.0.7"}},
      {"one household", {entry(0, "address:2001:db8::/64", 900)}, 1000, {"2001:db8::/64"}},
      {"too few to say", {entry(0, "address:10.0.0.7", 999)}, 999, {}},
      {"exactly half", {entry(0, "address:10.0.0.7", 500)}, 1000, {}},
      {"one more than half", {entry(0, "address:10.0.0.7", 501)}, 1000, {"10.0.0.7"}},
      {"two proxies, the larger first",
       {entry(0, "address:10.0.0.7", 300), entry(0, "address:10.0.0.8", 400)},
       1000,
       {"10.0.0.8", "10.0.0.7"}},
      {"five of nine",
       alike(9, 200),
       1800,
       {"192.0.2.0", "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"}},
      {"five of ten are only half", alike(10, 200), 2000, {}},
      {"six of ten", alike(6, 200), 2000, {}},
      {"many small ones that the sketch does not list",
       {entry(0, "address:10.0.0.7", 400)},
       9000,
       {}},
      {"one API key is no address", {entry(0, "api_key#00", 5000)}, 5000, {}},
      {"an address that stands second tells of its first part",
       {entry(0, "user:1+address:10.0.0.7", 5000)},
       5000,
       {}},
      {"routes of one address",
       {entry(0, "address:10.0.0.7+route:a", 400), entry(0, "address:10.0.0.7+route:b", 400)},
       1000,
       {"10.0.0.7"}},
      {"another limit's keys do not thin it out",
       {entry(0, "address:10.0.0.7", 1000), entry(1, "user:1", 600), entry(1, "user:2", 600)},
       2200,
       {"10.0.0.7"}},
      {"known API keys beside addresses",
       {entry(0, "address:10.0.0.7", 400), entry(0, "api_key#00", 900)},
       1300,
       {}},
      {"a total that lags behind", {entry(0, "address:10.0.0.7", 2000)}, 10, {"10.0.0.7"}},
  };
  for (const row& r : rows) {
    SCOPED_TRACE(r.name);
    const auto found = find_shared_addresses({.top = r.top, .total = r.total});
    EXPECT_EQ(found ? found->addresses : std::vector<std::string>{}, r.want);
  }
}

// Of several limits the busiest is told of: one sentence, not five.
TEST(SharedAddresses, AreThoseOfTheBusiestLimit) {
  const auto found = find_shared_addresses(
      {.top = {entry(1, "address:10.0.0.7", 2000), entry(2, "address:10.0.0.9", 3000)},
       .total = 5000});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->limit, 2U);
  EXPECT_EQ(describe(*found),
            "100 % of the requests counted by address come from 10.0.0.9; if that is a proxy of "
            "yours, add it "
            "to client.trusted_proxies, or its clients share one counter");
}

// The report of the real sketches, with more keys than they hold, still shows the proxy.
TEST(SharedAddresses, AreFoundInARealReport) {
  telemetry::metrics metrics({1, 2});
  auto& loop = metrics.add_loop();
  const instant now{std::chrono::seconds{1'700'000'005}};
  for (int i = 0; i < 3000; ++i) {
    loop.keys.add(telemetry::ranking::requests, 0, "address:10.0.0.7", now);
    if (i % 2 == 0) {
      loop.keys.add(telemetry::ranking::requests, 0, "address:192.0.2." + std::to_string(i), now);
    }
  }
  const auto report = [&] {
    return metrics.top(telemetry::ranking::requests, telemetry::window::minute, SIZE_MAX, now);
  };
  const auto found = find_shared_addresses(report());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->addresses, std::vector<std::string>{"10.0.0.7"});
  EXPECT_EQ(found->requests, 3000U);

  for (int i = 0; i < 9000; ++i) {
    loop.keys.add(telemetry::ranking::requests, 0, "address:198.51." + std::to_string(i), now);
  }
  EXPECT_FALSE(find_shared_addresses(report()));
}

}  // namespace
}  // namespace penstock::service
