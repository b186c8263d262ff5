// The worst that each algorithm admits, against the bounds that docs/algorithms.md promises. The
// schedules are made to reach them; the numbers here are the numbers there.
#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "quota/testdata/subject.hpp"

namespace penstock::quotas::testdata {
namespace {

using namespace std::chrono_literals;
using enum algorithm;

constexpr instant start{duration{1'767'225'600'000'000}};

struct admission {
  instant at;
  std::int64_t cost;
};

// Most units in any interval [t, t + length) or, with `closed`, [t, t + length].
std::int64_t most_within(const std::vector<admission>& all, duration length, bool closed) {
  std::int64_t most = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::int64_t sum = 0;
    for (std::size_t j = i; j < all.size(); ++j) {
      const duration apart = all[j].at - all[i].at;
      if (apart > length || (apart == length && !closed)) break;
      sum += all[j].cost;
    }
    most = std::max(most, sum);
  }
  return most;
}

// Tries one unit at every multiple of `step`.
std::vector<admission> hammer(subject& s, instant from, duration length, duration step) {
  std::vector<admission> admitted;
  for (instant t = from; t < from + length; t += step) {
    if (s.take(t, 1).admitted) admitted.push_back({t, 1});
  }
  return admitted;
}

struct bound_case {
  std::string name;
  quota q;
  instant first;         // one burst of everything at this moment, then hammering every 50 ms
  std::int64_t reached;  // most units within one period
};

// L = 60 per 60 s: what the documentation's table says can be admitted in any 60 s.
TEST(Bounds, AreReachedAndNotPassed) {
  const bound_case table[] = {
      {"fixed window", {.kind = fixed_window, .count = 60, .period = 60s}, start + 59'950ms, 120},
      {"log", {.kind = sliding_window_log, .count = 60, .period = 60s}, start + 59'950ms, 60},
      {"counter",
       {.kind = sliding_window_counter, .count = 60, .period = 60s},
       start + 59'950ms,
       119},
      {"bucket", {.count = 60, .period = 60s}, start, 119},
      {"bucket of one", {.count = 60, .period = 60s, .burst = 1}, start, 60},
      {"fixed window, burst 30",
       {.kind = fixed_window, .count = 60, .period = 60s, .burst = 30},
       start + 59'950ms,
       180},
      {"log, burst 30",
       {.kind = sliding_window_log, .count = 60, .period = 60s, .burst = 30},
       start + 59'950ms,
       120},
  };
  for (const bound_case& c : table) {
    subject s{c.q};
    std::vector<admission> all;
    while (s.take(c.first, 1).admitted) all.push_back({c.first, 1});
    const auto later = hammer(s, c.first + 50ms, 150s, 50ms);
    all.insert(all.end(), later.begin(), later.end());
    EXPECT_EQ(most_within(all, 60s, false), c.reached) << c.name;
  }
}

// The queue's line of the same table: however hard it is hammered, 60 starts in any 60 s.
TEST(Bounds, QueueStartsAtItsRate) {
  subject s{{.kind = leaky_bucket, .count = 60, .period = 60s, .queue = 30}};
  std::vector<admission> starts;
  for (instant t = start; t < start + 150s; t += 50ms) {
    const verdict v = s.take(t, 1);
    if (v.admitted) starts.push_back({t + v.delay, 1});
  }
  EXPECT_EQ(most_within(starts, 60s, false), 60);
}

// The tight bound of the counter, 2 * count - 1, for every small count.
TEST(Bounds, CounterNeverAdmitsTwiceTheLimit) {
  for (const std::int64_t count : {1, 2, 3, 5, 10, 60}) {
    const quota q{.kind = sliding_window_counter, .count = count, .period = 1s};
    subject s{q};
    std::vector<admission> all;
    while (s.take(start + 999'999us, 1).admitted) all.push_back({start + 999'999us, 1});
    for (std::int64_t i = 0; i <= 2 * count; ++i) {  // each as early as it may
      const instant now = all.back().at;
      const verdict v = s.peek(now, 1);
      const instant next = now + v.retry_after;
      if (next >= start + 999'999us + 1s) break;
      ASSERT_TRUE(s.take(next, 1).admitted);
      all.push_back({next, 1});
    }
    EXPECT_EQ(most_within(all, 1s, false), 2 * count - 1) << count;
  }
}

// Random schedules with random costs: no window of a log and no interval of a bucket ever holds
// more than the contract, and aligned windows hold at most count + burst.
TEST(Bounds, HoldForRandomSchedules) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random{seed};
    const auto roll = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>{low, high}(random);
    };
    const std::int64_t count = roll(1, 12);
    const std::int64_t burst = roll(1, 12);
    const duration period = roll(0, 1) == 0 ? duration{1s} : duration{7ms};
    subject log{{.kind = sliding_window_log, .count = count, .period = period}};
    subject bucket{{.count = count, .period = period, .burst = burst}};
    subject window{{.kind = fixed_window, .count = count, .period = period, .burst = burst}};
    subject counter{{.kind = sliding_window_counter, .count = count, .period = period}};
    std::vector<admission> of_log, of_bucket, of_window, of_counter;
    instant now = start + duration{roll(0, period.count())};
    for (int i = 0; i < 120; ++i) {
      const std::int64_t cost = roll(1, 3);
      if (log.take(now, cost).admitted) of_log.push_back({now, cost});
      if (bucket.take(now, cost).admitted) of_bucket.push_back({now, cost});
      if (window.take(now, cost).admitted) of_window.push_back({now, cost});
      if (counter.take(now, cost).admitted) of_counter.push_back({now, cost});
      now += duration{roll(0, 2) == 0 ? 0 : roll(0, 2 * period.count() / count)};
    }
    EXPECT_LE(most_within(of_log, period, false), count);
    EXPECT_LE(most_within(of_counter, period, false), 2 * count - 1);
    for (std::size_t i = 0; i < of_bucket.size(); ++i) {
      std::int64_t sum = 0;
      for (std::size_t j = i; j < of_bucket.size(); ++j) {
        sum += of_bucket[j].cost;
        const std::int64_t apart = (of_bucket[j].at - of_bucket[i].at).count();
        // sum <= burst + rate * apart, without dividing
        ASSERT_LE((sum - burst) * period.count(), apart * count);
      }
    }
    for (const admission& a : of_window) {
      std::int64_t sum = 0;
      for (const admission& b : of_window) {
        const auto index = [&](instant t) { return t.time_since_epoch() / period; };
        if (index(a.at) == index(b.at)) sum += b.cost;
      }
      ASSERT_LE(sum, count + burst);
    }
  }
}

// What leaves a queue leaves evenly: starts are at least a unit's time apart, and nobody is delayed
// longer than the queue or max_delay allow. With undelayed places the delay is what is shortened.
TEST(Bounds, QueueSpacesDepartures) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random{seed};
    const auto roll = [&](std::int64_t low, std::int64_t high) {
      return std::uniform_int_distribution<std::int64_t>{low, high}(random);
    };
    const std::int64_t count = roll(1, 9);
    const std::int64_t places = roll(0, 6);
    quota q{.kind = leaky_bucket, .count = count, .period = 1s, .queue = places};
    const duration longest{places * 1'000'000 / count + 1};
    duration most_delay = longest;
    if (roll(0, 1) == 0) {
      q.max_delay = duration{roll(0, 2'000'000)};
      most_delay = std::min(most_delay, *q.max_delay);
    }
    subject s{q};
    instant now = start;
    instant last_start{duration{INT64_MIN / 2}};
    std::int64_t last_cost = 0;
    for (int i = 0; i < 100; ++i) {
      const std::int64_t cost = std::min(s.q().capacity, roll(1, 2));
      const verdict v = s.take(now, cost);
      if (v.admitted) {
        EXPECT_LE(v.delay, most_delay);
        const instant starts = now + v.delay;
        // One microsecond of slack: both starts are rounded up to the tick.
        if (last_cost > 0) {
          EXPECT_GE((starts - last_start).count() + 1, last_cost * 1'000'000 / count);
        }
        last_start = starts;
        last_cost = cost;
      } else {
        EXPECT_EQ(v.remaining, 0);
      }
      now += duration{roll(0, 1'500'000 / count)};
    }
  }
}

}  // namespace
}  // namespace penstock::quotas::testdata
