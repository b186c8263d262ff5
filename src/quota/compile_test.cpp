#include <chrono>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "quota/accept.hpp"
#include "quota/compiled.hpp"
#include "quota/names.hpp"

namespace penstock::quotas {
namespace {

using namespace std::chrono_literals;
using enum algorithm;

constexpr std::int64_t two_53 = std::int64_t{1} << 53U;

struct tick_case {
  std::string name;
  quota q;
  std::int64_t tick_us;
};

// The finest tick that still counts without rounding: a change here changes every stored state.
TEST(Compile, ChoosesTheFinestTickThatFits) {
  const tick_case table[] = {
      {"small rate", {.count = 10, .period = 1s}, 1},
      {"a thousand a microsecond", {.count = 1'000'000'000, .period = 1s}, 1},
      {"prime count per day", {.count = 1'000'003, .period = 24h}, 1'000},
      {"prime count per month", {.count = 10'000'019, .period = 24h * 30}, 1'000'000},
      {"round count per month", {.count = 1'000'000, .period = 24h * 30}, 1},
      {"10^12 a day", {.count = 1'000'000'000'000, .period = 24h}, 1},
      {"window counts need no product",
       {.kind = fixed_window, .count = two_53 - 1, .period = 24h * 365},
       1},
      {"counter per minute", {.kind = sliding_window_counter, .count = 100, .period = 1min}, 1},
      {"counter per day",
       {.kind = sliding_window_counter, .count = 1'000'000, .period = 24h},
       1'000},
      {"counter per month",
       {.kind = sliding_window_counter, .count = 1'000'000'000, .period = 24h * 30},
       1'000'000},
      {"zero", {.count = 0, .period = 1s}, 1},
  };
  for (const tick_case& c : table) {
    const auto q = compile(c.q);
    ASSERT_TRUE(q) << c.name << ": " << q.error().message;
    EXPECT_EQ(q->tick_us, c.tick_us) << c.name;
  }
}

struct refusal_case {
  std::string name;
  quota q;
  std::string message;
};

// What an operator reads: the field, the value, and what to write instead.
TEST(Compile, RefusesWithTheNearestAcceptedQuota) {
  const refusal_case table[] = {
      {"negative count",
       {.count = -1, .period = 1s},
       "count must be 0 to 9007199254740991, is -1; nearest accepted: token_bucket 0/s"},
      {"no period",
       {.count = 1},
       "period must be 1ms to 400d, is 0s; nearest accepted: token_bucket 1/ms"},
      {"long period",
       {.count = 1, .period = 24h * 401},
       "period must be 1ms to 400d, is 401d; nearest accepted: token_bucket 1/400d"},
      {"prime count, fine period",
       {.count = 1'000'000'007, .period = 86'400'000'001us},
       "1000000007/86400000001us cannot be counted without rounding; nearest accepted: "
       "token_bucket "
       "992672881/86400000001us"},
      {"large burst at a slow rate",
       {.count = 1, .period = 24h * 400, .burst = 1'000},
       "burst 1000 at 1/400d cannot be counted without rounding; nearest accepted: token_bucket "
       "1/400d burst 130"},
      {"large counter",
       {.kind = sliding_window_counter, .count = 1'000'000'000'000, .period = 24h},
       "1000000000000/d cannot be counted without rounding; nearest accepted: "
       "sliding_window_counter 104249991374/d"},
      {"large log",
       {.kind = sliding_window_log, .count = 10'001, .period = 1min},
       "count 10001 is more than max_entries 10000: a log keeps one entry per unit; "
       "sliding_window_counter keeps two numbers; nearest accepted: sliding_window_counter "
       "10001/min"},
      {"large queue",
       {.kind = leaky_bucket, .count = 1, .period = 24h * 400, .queue = 1'000},
       "queue 1000 at 1/400d cannot be counted without rounding; nearest accepted: leaky_bucket "
       "1/400d queue 64"},
      {"burst on a queue",
       {.kind = leaky_bucket, .count = 1, .period = 1s, .burst = 5},
       "burst is not used by leaky_bucket, where `queue` says how many may wait; nearest accepted: "
       "leaky_bucket 1/s"},
      {"queue on a bucket",
       {.count = 1, .period = 1s, .queue = 5},
       "queue is not used by token_bucket, only by leaky_bucket; nearest accepted: token_bucket "
       "1/s"},
      {"max_delay on a window",
       {.kind = fixed_window, .count = 1, .period = 1s, .max_delay = 1s},
       "max_delay is not used by fixed_window, only by leaky_bucket; nearest accepted: "
       "fixed_window "
       "1/s"},
      {"burst window alone",
       {.kind = fixed_window, .count = 1, .period = 1s, .burst_window = 1s},
       "burst_window needs a burst; nearest accepted: fixed_window 1/s"},
      {"undelayed above queue",
       {.kind = leaky_bucket, .count = 1, .period = 1s, .queue = 2, .undelayed = 3},
       "undelayed 3 is more than the queue of 2; nearest accepted: leaky_bucket 1/s queue 2 "
       "undelayed 2"},
      {"max_entries elsewhere",
       {.count = 1, .period = 1s, .max_entries = 5},
       "max_entries is not used by token_bucket, only by sliding_window_log; nearest accepted: "
       "token_bucket 1/s"},
      {"count and burst above the range",
       {.kind = fixed_window, .count = two_53 - 2, .period = 1s, .burst = 2},
       "count and burst together are more than 9007199254740991; nearest accepted: fixed_window "
       "9007199254740990/s burst 1"},
  };
  for (const refusal_case& c : table) {
    const auto got = validate(c.q);
    ASSERT_FALSE(got) << c.name;
    EXPECT_EQ(got.error().code, errc::invalid_quota) << c.name;
    EXPECT_EQ(got.error().message, c.message) << c.name;
  }
}

// A suggestion that is refused in turn would send the operator round in circles.
TEST(Compile, AcceptsItsOwnSuggestions) {
  constexpr unsigned seed = 20'260'101;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random{seed};
  const auto number = [&](std::int64_t top) {  // all magnitudes alike, now and then out of range
    const auto bits = static_cast<int>(random() % 60);
    const auto n = static_cast<std::int64_t>(random() >> (63 - bits));
    return random() % 50 == 0 ? -n : std::min(n, top);
  };
  constexpr std::int64_t large = std::int64_t{1} << 55U;
  int refused = 0;
  for (int i = 0; i < 800; ++i) {
    quota q;
    q.kind = static_cast<algorithm>(random() % 5);
    q.count = number(large);
    q.period = duration{number(50'000'000'000'000)};
    if (random() % 2 == 0) q.period -= q.period % 1s;
    if (random() % 2 == 0) q.burst = number(large);
    if (random() % 4 == 0) q.burst_window = duration{number(50'000'000'000'000)};
    if (random() % 2 == 0) q.queue = number(large);
    if (random() % 4 == 0) q.undelayed = number(large);
    if (random() % 4 == 0) q.max_delay = duration{number(large)};
    if (random() % 4 == 0) q.max_entries = number(large);
    const auto p = find_problem(q);
    if (!p) continue;
    ++refused;
    EXPECT_FALSE(find_problem(p->nearest)) << describe(q) << " -> " << describe(p->nearest);
    const auto message = validate(q).error().message;
    EXPECT_NE(message.find(describe(p->nearest)), std::string::npos) << message;
  }
  EXPECT_GT(refused, 300);
}

// The count that is offered is the nearest one: checked against trying every count in between.
TEST(Compile, OffersTheNearestCount) {
  quota small{.count = 52'200, .period = 86'400'000'001us};  // the range just above 2^52 / period
  int wrong = 0;
  for (; small.count < 52'600; ++small.count) {
    const auto found = find_problem(small);
    if (!found) continue;
    const std::int64_t gap = std::abs(found->nearest.count - small.count);
    for (std::int64_t d = 1; d < gap; ++d) {
      for (const std::int64_t n : {small.count - d, small.count + d}) {
        quota nearer = small;
        nearer.count = n;
        if (compile(nearer)) ++wrong;
      }
    }
  }
  EXPECT_EQ(wrong, 0);
}

// The names are configuration and metrics: they never change.
TEST(Names, ReadBackWhatTheyWrite) {
  for (const algorithm a :
       {token_bucket, fixed_window, sliding_window_log, sliding_window_counter, leaky_bucket}) {
    EXPECT_EQ(parse_algorithm(to_string(a)), a);
  }
  EXPECT_EQ(parse_algorithm("leaky_bucket_meter"), token_bucket);
  EXPECT_EQ(parse_algorithm("Token_Bucket"), std::nullopt);
  EXPECT_EQ(parse_algorithm(""), std::nullopt);
}

// Messages speak the language of the file: 5000/10min, not 5000 per 600000000 us.
TEST(Names, WriteRatesAsFilesDo) {
  EXPECT_EQ(rate_text(10, 1s), "10/s");
  EXPECT_EQ(rate_text(100, 60s), "100/min");
  EXPECT_EQ(rate_text(5'000, 10min), "5000/10min");
  EXPECT_EQ(rate_text(1'000'000, 24h * 30), "1000000/30d");
  EXPECT_EQ(duration_text(90s), "90s");
  EXPECT_EQ(duration_text(1'500us), "1500us");
  EXPECT_EQ(duration_text(duration{0}), "0s");
}

}  // namespace
}  // namespace penstock::quotas
