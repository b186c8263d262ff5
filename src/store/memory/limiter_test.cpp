#include <chrono>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <penstock/limiter.hpp>

namespace penstock {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

limiter two_per_second() {
  auto made = limiter::create({.count = 2, .period = seconds{1}});
  EXPECT_TRUE(made.has_value());
  return *std::move(made);
}

// The whole promise of the library in five lines.
TEST(Limiter, Refuses_until_exactly_retry_after) {
  limiter l = two_per_second();
  manual_clock clock(instant{seconds{1'000}});
  EXPECT_TRUE(l.check("a", clock.now()).admitted);
  EXPECT_EQ(l.check("a", clock.now()).remaining, 0);
  const verdict refused = l.check("a", clock.now());
  EXPECT_FALSE(refused.admitted);
  EXPECT_EQ(refused.retry_after, milliseconds{500});
  clock.advance(refused.retry_after - duration{1});
  EXPECT_FALSE(l.check("a", clock.now()).admitted);
  clock.advance(duration{1});
  EXPECT_TRUE(l.check("a", clock.now()).admitted);
}

// A key is any bytes: embedders put addresses, tokens and NULs in it.
TEST(Limiter, Keys_of_any_bytes_and_length_are_apart) {
  limiter l = two_per_second();
  const instant now{seconds{1'000}};
  for (const std::string& key :
       {std::string{}, std::string(1, '\0'), std::string(2, '\0'), std::string("a\0b", 3),
        std::string("a"), std::string(100'000, 'x'), std::string(100'001, 'x')}) {
    EXPECT_EQ(l.check(key, now).remaining, 1) << key.size();
  }
}

// Dashboards ask often; asking must be free.
TEST(Limiter, Peek_answers_as_check_would_and_takes_nothing) {
  limiter l = two_per_second();
  const instant now{seconds{1'000}};
  const verdict seen = l.peek("a", now, 2);
  EXPECT_EQ(l.peek("a", now, 2), seen);
  EXPECT_EQ(l.check("a", now, 2), seen);
  EXPECT_FALSE(l.peek("a", now).admitted);
  EXPECT_TRUE(l.check("a", now, 0).admitted);
  EXPECT_TRUE(l.check("a", now, -5).admitted);
}

// Support unlocks a customer: at once, and nobody else.
TEST(Limiter, Reset_forgets_one_key) {
  limiter l = two_per_second();
  const instant now{seconds{1'000}};
  EXPECT_TRUE(l.check("a", now, 2).admitted);
  EXPECT_TRUE(l.check("b", now, 2).admitted);
  l.reset("a");
  EXPECT_EQ(l.peek("a", now, 0).remaining, 2);
  EXPECT_EQ(l.peek("b", now, 0).remaining, 0);
}

// A limiter is a value that moves; its counters move with it.
TEST(Limiter, Moves_with_its_counters) {
  limiter l = two_per_second();
  const instant now{seconds{1'000}};
  EXPECT_TRUE(l.check("a", now, 2).admitted);
  limiter moved = std::move(l);
  EXPECT_FALSE(moved.check("a", now).admitted);
  l = two_per_second();
  EXPECT_TRUE(l.check("a", now).admitted);
}

// What cannot be kept exactly, or not at all, is said when the limiter is made.
TEST(Limiter, Refuses_what_it_cannot_keep) {
  const auto bad_quota = limiter::create({.count = 1, .period = duration{0}});
  ASSERT_FALSE(bad_quota.has_value());
  EXPECT_EQ(bad_quota.error().code, errc::invalid_quota);
  const auto too_small = limiter::create({.count = 1, .period = seconds{1}}, {.max_bytes = 1'000});
  ASSERT_FALSE(too_small.has_value());
  EXPECT_EQ(too_small.error().code, errc::invalid_argument);
}

}  // namespace
}  // namespace penstock
