// What users are promised, each as a sentence that is tried against schedules made to break it.
// Seeds are fixed and printed, so a failure can be played again.
#include <algorithm>
#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "quota/names.hpp"
#include "quota/testdata/subject.hpp"

namespace penstock::quotas::testdata {
namespace {

using namespace std::chrono_literals;
using enum algorithm;

constexpr instant start{duration{1'767'225'600'000'000}};  // 2026-01-01, a multiple of every period

class dice {
 public:
  explicit dice(std::uint64_t seed) : random_(seed) {}
  std::int64_t roll(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>{low, high}(random_);
  }

 private:
  std::mt19937_64 random_;
};

// Quotas of every kind, small enough to reach their edges and odd enough to have fractions.
std::vector<quota> quotas() {
  std::vector<quota> all;
  for (const std::int64_t count : {1, 3, 7, 10}) {
    for (const duration period : {duration{10ms}, duration{1s}}) {
      for (const algorithm kind :
           {fixed_window, sliding_window_log, sliding_window_counter, token_bucket}) {
        all.push_back({.kind = kind, .count = count, .period = period});
        all.push_back({.kind = kind, .count = count, .period = period, .burst = 4});
        if (kind != token_bucket) {
          all.push_back({.kind = kind,
                         .count = count,
                         .period = period,
                         .burst = 4,
                         .burst_window = 3 * period});
        }
      }
      all.push_back({.kind = leaky_bucket, .count = count, .period = period, .queue = 3});
      all.push_back({.kind = leaky_bucket,
                     .count = count,
                     .period = period,
                     .queue = 5,
                     .undelayed = 2,
                     .max_delay = period / 3});
    }
  }
  return all;
}

// Runs `body` for every quota with its own printed seed, on a key with some history.
void for_each_quota(int rounds, const std::function<void(subject&, instant, dice&)>& body) {
  std::uint64_t seed = 4'711;
  for (const quota& q : quotas()) {
    for (int i = 0; i < rounds; ++i) {
      SCOPED_TRACE(describe(q) + " seed " + std::to_string(++seed));
      dice d{seed};
      subject s{q};
      instant now = start + duration{d.roll(0, 3 * q.period.count())};
      for (std::int64_t n = d.roll(0, 15); n > 0; --n) {
        (void)s.take(now, d.roll(1, 4));
        now += duration{d.roll(0, q.period.count() / 2)};
      }
      body(s, now, d);
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Retry-After is a promise in both directions: not a tick too long, not a tick too short.
TEST(Algorithms, RefuseUntilExactlyRetryAfter) {
  int refused = 0;
  for_each_quota(40, [&](subject& s, instant now, dice& d) {
    for (int i = 0; i < 6; ++i) {
      const std::int64_t cost = d.roll(1, s.q().capacity);
      const verdict v = s.take(now, cost);
      EXPECT_FALSE(v.never);
      if (v.admitted) {
        EXPECT_EQ(v.retry_after.count(), 0);
        continue;
      }
      ++refused;
      ASSERT_GT(v.retry_after.count(), 0);
      EXPECT_FALSE(s.peek(now + v.retry_after - s.tick(), cost).admitted);
      EXPECT_TRUE(s.peek(now + v.retry_after, cost).admitted);
    }
  });
  EXPECT_GT(refused, 5'000);
}

// A program that sleeps for next_after finds more left, and would not have a tick earlier.
TEST(Algorithms, GrowExactlyAtNextAfter) {
  for_each_quota(40, [](subject& s, instant now, dice& d) {
    const verdict v = s.take(now, d.roll(0, 3));
    if (v.remaining == v.limit) {
      EXPECT_EQ(v.next_after.count(), 0);
      return;
    }
    ASSERT_GT(v.next_after.count(), 0);
    EXPECT_EQ(s.peek(now + v.next_after - s.tick(), 0).remaining, v.remaining);
    EXPECT_GT(s.peek(now + v.next_after, 0).remaining, v.remaining);
  });
}

// A store forgets a key at expires_at: a tick earlier would be a grant, never would be a leak.
TEST(Algorithms, AreUntouchedExactlyAtResetAfter) {
  for_each_quota(40, [](subject& s, instant now, dice& d) {
    const verdict v = s.take(now, d.roll(1, 3));
    if (s.peek(now, 0).reset_after.count() == 0) return;
    EXPECT_EQ(s.expires_at(), now + v.reset_after);
    const subject fresh{s.q().source};
    for (const std::int64_t cost : {std::int64_t{0}, std::int64_t{1}, s.q().capacity}) {
      EXPECT_EQ(s.peek(now + v.reset_after, cost), fresh.peek(now + v.reset_after, cost));
    }
    EXPECT_GT(s.peek(now + v.reset_after - s.tick(), 0).reset_after.count(), 0);
  });
}

// A client that splits a request must not get more than one that does not.
TEST(Algorithms, SellTwoHalvesNoCheaperThanTheWhole) {
  for_each_quota(40, [](subject& s, instant now, dice& d) {
    if (s.q().source.kind == leaky_bucket) return;  // a queue admits by its turn, not by its size
    const std::int64_t a = d.roll(0, 4);
    const std::int64_t b = d.roll(0, 4);
    subject whole = s;
    const bool both = s.take(now, a).admitted && s.take(now, b).admitted;
    const verdict at_once = whole.take(now, a + b);
    EXPECT_EQ(both, at_once.admitted);
    if (both) {
      EXPECT_EQ(s.peek(now, 0), whole.peek(now, 0));
    }
  });
}

// What cannot fit says so at once, without a wait that nobody could keep, and takes nothing.
TEST(Algorithms, RefuseForGoodWhatCanNeverFit) {
  for_each_quota(3, [](subject& s, instant now, dice& d) {
    const verdict before = s.peek(now, 0);
    for (const std::int64_t cost :
         {s.q().capacity + 1, s.q().capacity + d.roll(1, 1'000'000), std::int64_t{INT64_MAX}}) {
      const verdict v = s.take(now, cost);
      EXPECT_TRUE(v.never && !v.admitted);
      EXPECT_EQ(v.retry_after.count(), 0);
      EXPECT_EQ(v.remaining, before.remaining);
    }
    EXPECT_EQ(s.peek(now, 0), before);
  });
}

// Asking is free: it neither creates, nor clamps, nor charges.
TEST(Algorithms, ChangeNothingWhenAsked) {
  for_each_quota(5, [](subject& s, instant now, dice& d) {
    const state before = s.stored();
    for (const duration step : {duration{0}, duration{-d.roll(0, 100'000'000)}, duration{5s}}) {
      EXPECT_TRUE(s.take(now + step, 0).admitted);
    }
    EXPECT_EQ(s.stored(), before);
  });
}

// No step of the clock, however far back, puts anything into anybody's hands, and Retry-After stays
// true if the clock then runs on. The wait is bounded: two windows, three for the counter, or the
// time to fill.
TEST(Algorithms, GrantNothingWhenTheClockGoesBack) {
  for_each_quota(60, [](subject& s, instant now, dice& d) {
    const quota& q = s.q().source;
    const verdict before = s.peek(now, 0);
    const instant back = now - duration{d.roll(1, 8 * q.period.count())};
    EXPECT_LE(s.peek(back, 0).remaining, before.remaining);
    const std::int64_t cost = d.roll(1, std::min<std::int64_t>(4, s.q().capacity));
    const verdict v = s.take(back, cost);
    EXPECT_LE(v.remaining, before.remaining);
    if (v.admitted) return;
    const duration window = std::max(q.period, duration{s.q().burst_period * s.q().tick_us});
    const duration full = duration{s.q().full / s.q().unit_den * s.q().tick_us} + s.tick();
    const int windows = q.kind == sliding_window_counter ? 3 : 2;
    EXPECT_LE(v.retry_after, s.q().full > 0 ? full : windows * window);
    EXPECT_TRUE(s.peek(back + v.retry_after, cost).admitted);
    EXPECT_FALSE(s.peek(back + v.retry_after - s.tick(), cost).admitted);
  });
}

// Login protection: a refused request uses up what is left, and says when it would pass.
TEST(Algorithms, ChargeARefusalUpToWhatIsLeft) {
  for_each_quota(20, [](subject& s, instant now, dice& d) {
    const std::int64_t cost = d.roll(1, s.q().capacity + 1);
    const std::int64_t left = s.peek(now, 0).remaining;
    const verdict v = s.take_denied(now, cost);
    EXPECT_FALSE(v.admitted);
    if (s.q().source.kind != leaky_bucket) {
      EXPECT_EQ(v.remaining, left - std::min(cost, left));
    }
    EXPECT_EQ(v.never, cost > s.q().capacity);
    if (v.never) return;
    EXPECT_TRUE(s.peek(now + v.retry_after, cost).admitted);
    if (v.retry_after.count() > 0) {
      EXPECT_FALSE(s.peek(now + v.retry_after - s.tick(), cost).admitted);
    }
  });
}

// A refund is no way to get rich: charge and refund leave at most what was there.
TEST(Algorithms, RefundNoMoreThanWasTaken) {
  for_each_quota(40, [](subject& s, instant now, dice& d) {
    const verdict before = s.peek(now, 0);
    const std::int64_t cost = d.roll(1, 4);
    if (!s.take(now, cost).admitted) return;
    const instant later = now + duration{d.roll(0, 2) * d.roll(0, s.q().source.period.count())};
    subject untouched = s;
    const std::int64_t kept = untouched.peek(later, 0).remaining;
    s.refund(later, now, cost);
    const std::int64_t left = s.peek(later, 0).remaining;
    EXPECT_LE(left, s.q().capacity);
    EXPECT_LE(left, kept + cost);
    EXPECT_GE(left, kept);
    if (later == now) {
      EXPECT_LE(left, before.remaining);
    }
  });
}

// A limit means the same on every day: shifted by whole windows, a schedule gets the same answers.
TEST(Algorithms, AnswerTheSameAtAnyTime) {
  for (const quota& q : quotas()) {
    dice d{7};
    const duration shift = 3 * 1'000'003 * q.period;
    subject here{q};
    subject there{q};
    instant now = start;
    for (int i = 0; i < 60; ++i) {
      now += duration{d.roll(-q.period.count() / 8, q.period.count() / 2)};
      const std::int64_t cost = d.roll(0, 4);
      ASSERT_EQ(here.take(now, cost), there.take(now + shift, cost)) << describe(q) << " " << i;
    }
  }
}

// Whoever raises a limit must not see clients refused because of it.
TEST(RateChange, TakesNothingAwayWhenRaised) {
  for_each_quota(20, [](subject& s, instant now, dice& d) {
    const std::int64_t before = s.peek(now, 0).remaining;
    quota more = s.q().source;
    more.count *= d.roll(2, 50);
    s.change(more);
    EXPECT_GE(s.peek(now, 0).remaining, before);
  });
}

}  // namespace
}  // namespace penstock::quotas::testdata
