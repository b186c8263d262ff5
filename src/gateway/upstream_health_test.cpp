#include "gateway/upstream_health.hpp"

#include <gtest/gtest.h>

namespace penstock::gateway {
namespace {

// One lost packet must not take a server out of service.
TEST(UpstreamHealth, NeedsSeveralFailuresInARow) {
  upstream_health health(3);
  health.failed(1'000);
  health.failed(1'000);
  health.succeeded();
  health.failed(1'000);
  health.failed(1'000);
  EXPECT_FALSE(health.is_down(1'000));
  health.failed(1'000);
  EXPECT_TRUE(health.is_down(1'000));
  EXPECT_TRUE(health.is_down(1'999));
  EXPECT_FALSE(health.is_down(2'000));
}

// A server that stays away is asked less and less, but at least every half minute.
TEST(UpstreamHealth, BacksOffUpToThirtySecondsAndForgetsOnSuccess) {
  upstream_health health(1);
  std::int64_t now = 0;
  for (const std::int64_t want : {1'000, 2'000, 4'000, 8'000, 16'000, 30'000, 30'000}) {
    health.failed(now);
    EXPECT_EQ(health.down_until() - now, want);
    now = health.down_until();
  }
  health.succeeded();
  health.failed(now);
  EXPECT_EQ(health.down_until() - now, 1'000);
}

// Requests that were under way when it went down must not push the back-off further.
TEST(UpstreamHealth, FailuresWhileDownTellNothingNew) {
  upstream_health health(1);
  health.failed(0);
  for (int i = 0; i < 10; ++i) health.failed(500);
  EXPECT_EQ(health.down_until(), 1'000);
}

// A server that still hangs costs one request its deadline after a back-off, not everybody's.
TEST(UpstreamHealth, LetsOneRequestTryAfterABackOff) {
  upstream_health health(1);
  EXPECT_TRUE(health.take_turn(0));
  EXPECT_TRUE(health.take_turn(0));
  health.failed(0);
  EXPECT_FALSE(health.take_turn(999));
  EXPECT_TRUE(health.take_turn(1'000));
  EXPECT_FALSE(health.take_turn(1'000));
  EXPECT_FALSE(health.take_turn(2'999));
  health.failed(2'500);  // the one that tried; the back-off is 2 s by now
  EXPECT_FALSE(health.take_turn(4'499));
  EXPECT_TRUE(health.take_turn(4'500));
  EXPECT_FALSE(health.take_turn(8'499));
  EXPECT_TRUE(health.take_turn(8'500));  // nobody ever told how that one ended
  health.succeeded();
  EXPECT_TRUE(health.take_turn(8'501));
  EXPECT_TRUE(health.take_turn(8'501));
}

}  // namespace
}  // namespace penstock::gateway
