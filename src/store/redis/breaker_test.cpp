#include "store/redis/breaker.hpp"

#include <gtest/gtest.h>

namespace penstock::store::redis {
namespace {

using namespace std::chrono_literals;
using time_point = breaker::time_point;

const time_point start{1h};

// One slow answer must not send a fleet into its failure policy; five in a row are an outage.
TEST(Breaker, OpensAfterFiveFailuresInARow) {
  breaker b;
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(b.failed(start, 0));
  b.succeeded(start);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(b.failed(start + 200ms, 0));
  EXPECT_TRUE(b.closed());
  EXPECT_TRUE(b.failed(start + 200ms, 0));
  EXPECT_FALSE(b.closed());
  EXPECT_FALSE(b.failed(start + 201ms, 0)) << "it opens once";
}

// Every second call lost never gives five in a row.
TEST(Breaker, OpensWhenHalfOfManyCallsFail) {
  breaker b;
  bool opened = false;
  for (int i = 0; i < 20; ++i) {
    if (i % 2 == 0) {
      b.succeeded(start + i * 1ms);
    } else {
      opened = b.failed(start + i * 1ms, 0);
      EXPECT_EQ(opened, i == 19) << i;
    }
  }
  EXPECT_TRUE(opened);
}

// The same share of failures spread over a long time is not an outage.
TEST(Breaker, ForgetsCallsOfEarlierSpans) {
  breaker b;
  for (int i = 0; i < 100; ++i) {
    const time_point now = start + i * 20ms;
    if (i % 2 == 0) {
      b.succeeded(now);
    } else {
      EXPECT_FALSE(b.failed(now, 0));
    }
  }
}

// Back within two seconds: the pauses end at 800 ms, and good probes follow each other quickly.
TEST(Breaker, ProbesWithGrowingPausesAndClosesAfterThreeGoodOnes) {
  breaker b;
  EXPECT_TRUE(b.trip(start, 0));
  EXPECT_EQ(b.next_probe(), start + 250ms);
  b.probe_failed(start + 250ms, 0);
  EXPECT_EQ(b.next_probe(), start + 750ms);
  time_point now = start + 750ms;
  for (int i = 0; i < 10; ++i) {
    b.probe_failed(now, 0);
    EXPECT_EQ(b.next_probe(), now + 800ms);
    now = b.next_probe();
  }
  EXPECT_FALSE(b.probe_succeeded(now));
  EXPECT_EQ(b.next_probe(), now + 10ms);
  EXPECT_FALSE(b.probe_succeeded(now + 10ms));
  EXPECT_TRUE(b.probe_succeeded(now + 20ms));
  EXPECT_TRUE(b.closed());
}

// A single good answer in an outage must not bring all requests back.
TEST(Breaker, StartsCountingGoodProbesAnewAfterABadOne) {
  breaker b;
  b.trip(start, 0);
  b.probe_succeeded(start);
  b.probe_succeeded(start);
  b.probe_failed(start, 0);
  EXPECT_FALSE(b.probe_succeeded(start));
  EXPECT_FALSE(b.probe_succeeded(start));
  EXPECT_TRUE(b.probe_succeeded(start));
}

// A fleet that probes in step is an attack on the node that comes back.
TEST(Breaker, ShortensPausesByChanceByUpToHalf) {
  for (const std::uint64_t random : {std::uint64_t{0}, std::uint64_t{124'999}, ~std::uint64_t{0}}) {
    breaker b;
    b.trip(start, random);
    EXPECT_GT(b.next_probe(), start + 125ms);
    EXPECT_LE(b.next_probe(), start + 250ms);
  }
}

// After an outage the old failures do not count against the node.
TEST(Breaker, ForgetsFailuresWhenItCloses) {
  breaker b;
  for (int i = 0; i < 5; ++i) b.failed(start, 0);
  for (int i = 0; i < 3; ++i) b.probe_succeeded(start);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(b.failed(start + 1ms, 0));
}

}  // namespace
}  // namespace penstock::store::redis
