#include "config/limit_flag.hpp"

#include <gtest/gtest.h>

namespace penstock::config {
namespace {

// The flag is the first thing people type: every form of the usage line has to mean what it says.
TEST(LimitFlag, ReadsLikeTheFile) {
  struct row {
    const char* text;
    const char* name;
    algorithm kind;
    std::int64_t count;
    std::int64_t period_s;
  };
  const row rows[] = {
      {"address 10/s", "address-10-s", algorithm::token_bucket, 10, 1},
      {"  address   10/s  ", "address-10-s", algorithm::token_bucket, 10, 1},
      {"address 10/s burst 20", "address-10-s", algorithm::token_bucket, 10, 1},
      {"header(X-API-Key) 100/min sliding_window_counter", "header-X-API-Key-100-min",
       algorithm::sliding_window_counter, 100, 60},
      {"user + route | address 3/h", "user-route-address-3-h", algorithm::token_bucket, 3, 3600},
      {"global 10/s queue 20", "global-10-s", algorithm::leaky_bucket, 10, 1},
      {"global 10/s queue 20 leaky_bucket", "global-10-s", algorithm::leaky_bucket, 10, 1},
      {"global 10/s fixed_window burst 5", "global-10-s", algorithm::fixed_window, 10, 1},
      {"global 0", "global-0", algorithm::token_bucket, 0, 1},
  };
  for (const auto& r : rows) {
    const auto limit = parse_limit_flag(r.text);
    ASSERT_TRUE(limit) << r.text << ": " << limit.error().message;
    EXPECT_EQ(limit->name, r.name) << r.text;
    ASSERT_EQ(limit->rate.quotas.size(), 1U) << r.text;
    EXPECT_EQ(limit->rate.quotas[0].kind, r.kind) << r.text;
    EXPECT_EQ(limit->rate.quotas[0].count, r.count) << r.text;
    EXPECT_EQ(limit->rate.quotas[0].period, std::chrono::seconds(r.period_s)) << r.text;
  }
  EXPECT_EQ(parse_limit_flag("address 10/s burst 20")->rate.quotas[0].burst, 20);
  EXPECT_EQ(parse_limit_flag("global 10/s queue 20")->rate.quotas[0].queue, 20);
  EXPECT_TRUE(parse_limit_flag("global unlimited")->rate.unlimited);
}

// Whoever mistypes sees where.
TEST(LimitFlag, PointsAtTheMistake) {
  struct row {
    const char* text;
    std::size_t offset;
    const char* message;
  };
  const row rows[] = {
      {"", 0, "a key is missing"},
      {"10/s", 0, "a key is missing"},
      {"address", 7, "a rate is missing"},
      {"adress 10/s", 0, "unknown key \"adress\""},
      {"user + adress 10/s", 7, "unknown key \"adress\""},
      {"address 10/x", 11, "unknown unit \"x\""},
      {"address 10", 10, "\"10\" has no period"},
      {"address 10/s brust 20", 13, "unknown algorithm \"brust\""},
      {"address 10/s burst", 18, "burst needs a number"},
      {"address 10/s burst x", 19, "\"x\" is not a whole number"},
      {"address 10/s burst 1 burst 2", 21, "burst stands twice"},
      {"address 10/s token_bucket fixed_window", 26, "\"fixed_window\" is too much"},
      {"address 10/s queue 5 token_bucket", 13, "token_bucket has no queue"},
      {"address 10/s burst 5 leaky_bucket", 13, "leaky_bucket has no burst"},
  };
  for (const auto& r : rows) {
    const auto limit = parse_limit_flag(r.text);
    ASSERT_FALSE(limit) << r.text;
    EXPECT_EQ(limit.error().message, r.message) << r.text;
    EXPECT_EQ(limit.error().offset, r.offset) << r.text;
  }
}

// Counters belong to names: two flags may not share one by accident.
TEST(LimitFlag, MakesNamesUnique) {
  std::vector<policy::limit_spec> limits;
  for (const char* expected : {"address-10-s", "address-10-s-2", "address-10-s-3"}) {
    auto limit = *parse_limit_flag("address 10/s");
    make_unique_name(limit, limits);
    EXPECT_EQ(limit.name, expected);
    limits.push_back(limit);
  }
}

}  // namespace
}  // namespace penstock::config
