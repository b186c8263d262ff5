// Named faults that rate limiters are known for, each as the answer that is right.
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "quota/testdata/subject.hpp"

namespace penstock::quotas::testdata {
namespace {

using namespace std::chrono_literals;
using enum algorithm;

constexpr instant start{duration{1'767'225'600'000'000}};

// Rates above one per second must not be rounded to a coarser unit: 10 + 100/s * 5 s, no more.
TEST(TokenBucket, AdmitsExactlyItsRateUnderLoad) {
  subject s{{.count = 100, .period = 1s, .burst = 10}};
  int admitted = 0;
  for (int ms = 0; ms < 5'000; ++ms) {
    const instant now = start + std::chrono::milliseconds{ms};
    const verdict v = s.take(now, 1);
    admitted += v.admitted ? 1 : 0;
    EXPECT_EQ(v.remaining == 0, !s.peek(now, 1).admitted) << ms;
  }
  EXPECT_EQ(admitted, 10 + 499);
}

// remaining counts down with every request, also when there is much left.
TEST(TokenBucket, CountsDownOneByOne) {
  subject s{{.count = 10, .period = 60s, .burst = 5}};
  for (std::int64_t left = 4; left >= 0; --left) EXPECT_EQ(s.take(start, 1).remaining, left);
  EXPECT_FALSE(s.take(start, 1).admitted);
  const verdict v = s.take(start + 6s, 1);
  EXPECT_TRUE(v.admitted);
  EXPECT_EQ(v.remaining, 0);
}

// The part of a unit that has come back already shortens the wait.
TEST(TokenBucket, CountsPartialUnitsInTheWait) {
  subject s{{.count = 1, .period = 1s}};
  (void)s.take(start, 1);
  EXPECT_EQ(s.take(start + 200ms, 1).retry_after, 800ms);
}

// A cost of the whole capacity has a finite wait; one more never passes.
TEST(TokenBucket, TellsTheLargestCostFromTooLarge) {
  subject s{{.count = 1, .period = 1s, .burst = 5}};
  (void)s.take(start, 5);
  EXPECT_EQ(s.take(start, 5).retry_after, 5s);
  EXPECT_TRUE(s.take(start, 6).never);
}

// A burst below the rate still limits: the second request in the same millisecond is refused, and
// the state lives for at least a tick.
TEST(TokenBucket, KeepsABurstBelowTheRate) {
  for (const std::int64_t count : {3, 1'000, 1'000'000}) {
    subject s{{.count = count, .period = 1s, .burst = 1}};
    EXPECT_TRUE(s.take(start, 1).admitted);
    EXPECT_FALSE(s.take(start, 1).admitted) << count;
    EXPECT_GT(s.expires_at(), start);
  }
}

// After a step back the bucket is empty, not emptier: the clamp holds to the fraction of a tick.
TEST(TokenBucket, IsAtMostEmptyAfterAStepBack) {
  subject s{{.count = 3, .period = 1s}};
  (void)s.take(start, 1);
  EXPECT_EQ(s.take(start - 666'667us, 1).reset_after, 1s);
}

// Rates too fast for one unit per tick are counted in fractions, not rounded to nothing.
TEST(TokenBucket, CountsRatesAboveOneUnitPerTick) {
  subject s{{.count = 1'000'000'000, .period = 1s}};
  EXPECT_TRUE(s.take(start, 1'000'000'000).admitted);
  EXPECT_EQ(s.take(start, 1).retry_after, 1us);
  EXPECT_EQ(s.peek(start + 3us, 0).remaining, 3'000);
}

struct refusal_case {
  std::string name;
  quota q;
};

// 0 has one meaning, whatever else is written beside it: everything is refused, for good.
TEST(Algorithms, RefuseEverythingAtZero) {
  const refusal_case table[] = {
      {"bucket", {.count = 0, .period = 1s}},
      {"bucket with burst", {.count = 0, .period = 1s, .burst = 5}},
      {"bucket of nothing", {.count = 5, .period = 1s, .burst = 0}},
      {"fixed window", {.kind = fixed_window, .count = 0, .period = 1s}},
      {"fixed window, burst", {.kind = fixed_window, .count = 0, .period = 1s, .burst = 5}},
      {"log", {.kind = sliding_window_log, .count = 0, .period = 1s}},
      {"counter", {.kind = sliding_window_counter, .count = 0, .period = 1s}},
      {"queue", {.kind = leaky_bucket, .count = 0, .period = 1s, .queue = 5}},
  };
  for (const refusal_case& c : table) {
    subject s{c.q};
    const verdict v = s.take(start, 1);
    EXPECT_FALSE(v.admitted) << c.name;
    EXPECT_TRUE(v.never) << c.name;
    EXPECT_EQ(v.limit, 0) << c.name;
    EXPECT_EQ(v.remaining, 0) << c.name;
    EXPECT_TRUE(s.take(start, 0).admitted) << c.name;
    EXPECT_FALSE(s.take_denied(start, 1).admitted) << c.name;
    EXPECT_EQ(s.refund(start, start, 1).remaining, 0) << c.name;
  }
}

// Counts beyond 32 bits, up to the last integer that every store represents.
TEST(FixedWindow, CountsToTheLastExactInteger) {
  constexpr std::int64_t last = (std::int64_t{1} << 53U) - 1;
  subject s{{.kind = fixed_window, .count = last, .period = 24h * 365}};
  EXPECT_TRUE(s.take(start, last - 1).admitted);
  EXPECT_EQ(s.take(start, 1).remaining, 0);
  EXPECT_FALSE(s.take(start, 1).admitted);
}

// A raised rate helps at once: units used are kept, not the time they were stored as.
TEST(RateChange, KeepsUsedUnitsWhenRaised) {
  subject s{{.count = 10, .period = 20s, .burst = 15}};
  (void)s.take(start, 5);
  s.change({.count = 1'000, .period = 20s, .burst = 15});
  const verdict v = s.take(start, 1);
  EXPECT_TRUE(v.admitted);
  EXPECT_EQ(v.remaining, 9);
}

// A lowered rate makes used units last longer, and grants none back.
TEST(RateChange, KeepsUsedUnitsWhenLowered) {
  subject s{{.count = 1'000, .period = 20s, .burst = 15}};
  (void)s.take(start, 12);
  s.change({.count = 10, .period = 20s, .burst = 15});
  EXPECT_EQ(s.peek(start, 0).remaining, 3);
  const verdict v = s.take(start, 4);
  EXPECT_FALSE(v.admitted);
  EXPECT_EQ(v.retry_after, 2s);
  EXPECT_TRUE(s.take(start + 2s, 4).admitted);
}

// A part of a unit that is still used counts as a whole one: never freer by a reload.
TEST(RateChange, RoundsPartsOfUnitsUp) {
  subject s{{.count = 1, .period = 1s, .burst = 10}};
  (void)s.take(start, 3);
  s.change({.count = 2, .period = 1s, .burst = 10});
  EXPECT_EQ(s.peek(start + 500ms, 0).remaining, 7);  // 2.5 used: 3
  EXPECT_EQ(s.peek(start + 1s, 0).remaining, 8);
}

// A smaller bucket under what is used is an empty one, with a wait that holds.
TEST(RateChange, EmptiesABucketThatGotTooSmall) {
  subject s{{.count = 10, .period = 1s, .burst = 100}};
  (void)s.take(start, 90);
  s.change({.count = 10, .period = 1s, .burst = 20});
  const verdict v = s.take(start, 1);
  EXPECT_EQ(v.remaining, 0);
  EXPECT_EQ(v.retry_after, 100ms);
  EXPECT_TRUE(s.take(start + 100ms, 1).admitted);
}

// A count so large that the tick changes: the same unit numbers would mean another rate.
TEST(RateChange, KnowsTheTickOfAStoredTime) {
  subject s{{.count = 1'000'003, .period = 24h}};
  ASSERT_EQ(s.tick(), 1ms);
  (void)s.take(start, 1'000);
  s.change({.count = 10'000, .period = 24h});
  ASSERT_EQ(s.tick(), 1us);
  EXPECT_EQ(s.peek(start, 0).remaining, 9'000);
  EXPECT_LE(s.expires_at(), start + 24h);
}

// Used more than the new limit: nothing left, a wait within the window, nothing negative.
TEST(RateChange, LowersWindowsBelowWhatIsUsed) {
  for (const algorithm kind : {fixed_window, sliding_window_log, sliding_window_counter}) {
    subject s{{.kind = kind, .count = 2'000, .period = 24h}};
    const instant noon = start + 12h;
    (void)s.take(noon, 1'500);
    s.change({.kind = kind, .count = 200, .period = 24h});
    const verdict v = s.take(noon, 1);
    EXPECT_FALSE(v.admitted);
    EXPECT_EQ(v.remaining, 0);
    EXPECT_GT(v.retry_after, 0s);
    EXPECT_LE(v.retry_after, 25h);
    EXPECT_TRUE(s.take(noon + v.retry_after, 1).admitted);
  }
}

// The burst is above the rate, in its own window: 3 + 2 at once, then the rate alone until the
// burst window ends.
TEST(Burst, IsTakenAfterTheRateAndComesBackWithItsWindow) {
  subject s{{.kind = fixed_window, .count = 3, .period = 1s, .burst = 2, .burst_window = 10s}};
  EXPECT_EQ(s.take(start, 4).remaining, 1);
  EXPECT_EQ(s.take(start, 2).retry_after, 1s);
  EXPECT_TRUE(s.take(start, 1).admitted);
  EXPECT_EQ(s.take(start + 1s, 4).retry_after, 9s);
  EXPECT_EQ(s.take(start + 1s, 3).remaining, 0);
  EXPECT_EQ(s.peek(start + 1s, 0).next_after, 1s);
  EXPECT_EQ(s.take(start + 10s, 5).remaining, 0);
  EXPECT_TRUE(s.take(start + 10s, 6).never);
}

// A refund never lands in the counter that keeps it longest: the burst's minute gives back first.
TEST(Burst, RefundsToTheWindowThatEndsFirst) {
  const quota q{.kind = fixed_window, .count = 5, .period = 24h, .burst = 3, .burst_window = 60s};
  subject s{q};
  (void)s.take(start, 5);
  (void)s.take(start, 3);
  EXPECT_EQ(s.refund(start, start, 3).remaining, 3);
  EXPECT_EQ(s.peek(start + 60s, 0).remaining, 3);
}

// A request that gave up waiting frees its place only while nobody is behind it.
TEST(Queue, GivesBackOnlyTheLastPlace) {
  subject s{{.kind = leaky_bucket, .count = 1, .period = 1s, .queue = 3}};
  (void)s.take(start, 1);
  (void)s.take(start + 1ms, 1);
  (void)s.take(start + 2ms, 1);
  EXPECT_EQ(s.refund(start + 3ms, start + 1ms, 1).remaining, 1);  // somebody is behind it
  EXPECT_EQ(s.refund(start + 3ms, start + 2ms, 1).remaining, 2);
  EXPECT_EQ(s.refund(start + 3ms, start + 2ms, 1).remaining, 2);  // once
}

// Two admissions in one tick cannot be told apart: neither place is given back.
TEST(Queue, GivesBackNothingWhenATickAdmittedSeveral) {
  subject s{{.kind = leaky_bucket, .count = 1, .period = 1s, .queue = 3}};
  for (int i = 0; i < 3; ++i) (void)s.take(start, 1);
  EXPECT_EQ(s.refund(start, start, 1).remaining, 1);
}

// max_delay bounds the delay, also where undelayed places let more wait.
TEST(Queue, RefusesRatherThanDelayLonger) {
  subject s{{.kind = leaky_bucket, .count = 10, .period = 1s, .queue = 20, .max_delay = 250ms}};
  EXPECT_EQ(s.q().capacity, 3);
  EXPECT_EQ(s.take(start, 1).delay, 0ms);
  EXPECT_EQ(s.take(start, 1).delay, 100ms);
  EXPECT_EQ(s.take(start, 1).delay, 200ms);
  EXPECT_EQ(s.take(start, 1).retry_after, 50ms);
  EXPECT_EQ(s.take(start + 50ms, 1).delay, 250ms);
}

// A log takes memory for what happened, not for what might: nothing at first, then by doubling, one
// entry per tick, never above the count.
TEST(Log, GrowsWithUseOnly) {
  subject s{{.kind = sliding_window_log, .count = 100, .period = 60s}};
  EXPECT_EQ(s.log().memory_bytes(), 0U);
  (void)s.take(start, 50);
  EXPECT_EQ(s.log().memory_bytes(), 4 * sizeof(log_state::entry));
  for (int i = 1; i <= 300; ++i) (void)s.take(start + i * 1s, 1);
  EXPECT_LE(s.log().memory_bytes(), 100 * sizeof(log_state::entry));
}

// Words that no take() ever wrote, as a damaged store may return them: a new key, not a crash.
TEST(Algorithms, ReadDamagedStatesAsSomethingBounded) {
  const std::int64_t words[] = {INT64_MIN, -1, 0, 1, 3, 1'000'000, INT64_MAX};
  const quota all[] = {
      {.count = 7, .period = 1s},
      {.kind = leaky_bucket, .count = 7, .period = 1s, .queue = 3, .max_delay = 1s},
      {.kind = fixed_window, .count = 7, .period = 1s, .burst = 2},
      {.kind = sliding_window_counter, .count = 7, .period = 1s, .burst = 2},
  };
  for (const quota& q : all) {
    subject s{q};
    for (std::size_t i = 0; i < 7 * 7 * 7 * 7 * 7; ++i) {
      state damaged{.present = true};
      std::size_t rest = i;
      for (std::int64_t& w : damaged.w) {
        w = words[rest % 7];
        rest /= 7;
      }
      s.set(damaged);
      (void)s.refund(start, start, 1);
      (void)s.expires_at();
      s.set(damaged);
      const verdict v = s.take(start, 1);
      EXPECT_GE(v.remaining, 0);
      EXPECT_LE(v.remaining, v.limit);
      EXPECT_LE(v.retry_after, 4s);
    }
  }
}

// The worked examples of docs/algorithms.md that no vector holds.
TEST(Documentation, CounterWeighsThePreviousWindow) {
  subject s{{.kind = sliding_window_counter, .count = 50, .period = 60s}};
  (void)s.take(start + 30s, 42);
  EXPECT_EQ(s.peek(start + 75s, 0).remaining, 18);
}

TEST(Documentation, BucketNamesTheRestOfTheWait) {
  subject s{{.count = 10, .period = 1s, .burst = 20}};
  EXPECT_TRUE(s.take(start, 20).admitted);
  EXPECT_EQ(s.take(start + 30ms, 1).retry_after, 70ms);
}

TEST(Documentation, BurstAddsToTheRate) {
  subject s{{.kind = fixed_window, .count = 3, .period = 1s, .burst = 2, .burst_window = 10s}};
  EXPECT_TRUE(s.take(start, 5).admitted);
  for (int i = 1; i < 10; ++i) {
    EXPECT_TRUE(s.take(start + i * 1s, 3).admitted);
    EXPECT_FALSE(s.take(start + i * 1s, 1).admitted);
  }
  EXPECT_TRUE(s.take(start + 10s, 5).admitted);
}

}  // namespace
}  // namespace penstock::quotas::testdata
