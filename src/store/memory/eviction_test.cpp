// A full store: who goes, who stays, and how many bytes it holds.
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "quota/testdata/subject.hpp"
#include "store/memory/memory_store.hpp"

namespace penstock::store {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t mib = std::size_t{1} << 20U;
const instant start{1'800'000'000s};

counter make(const char* id, const quota& q) {
  return {.id = id, .quota = quotas::testdata::compile_or_throw(q)};
}

verdict ask(memory_store& s, const counter& what, const std::string& key, instant now,
            std::int64_t cost = 1, intent why = intent::take) {
  const charge one{.what = &what, .key = key, .cost = cost};
  verdict answer;
  batch b;
  b.charges = {&one, 1};
  b.verdicts = {&answer, 1};
  b.why = why;
  s.check(b, now);
  return answer;
}

// Kuadrant/limitador#466: a flood of made-up keys must not free a key that is being refused.
TEST(Memory_store_full, Keys_being_refused_outlive_a_flood) {
  memory_store s({.max_bytes = mib, .secret = hash128{3, 4}});
  const counter hour = make("hour", {.kind = algorithm::fixed_window, .count = 5, .period = 1h});
  const counter log =
      make("log", {.kind = algorithm::sliding_window_log, .count = 5, .period = 1h});
  const counter queue =
      make("queue", {.kind = algorithm::leaky_bucket, .count = 5, .period = 1h, .queue = 4});
  const std::vector<const counter*> all{&hour, &log, &queue};
  for (const counter* c : all) {
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(ask(s, *c, std::to_string(i), start, 5).admitted);
  }
  for (int i = 0; i < 150'000; ++i) ask(s, hour, "flood" + std::to_string(i), start);
  for (int i = 0; i < 20'000; ++i) ask(s, log, "flood" + std::to_string(i), start);
  for (const counter* c : all) {
    for (int i = 0; i < 100; ++i) {
      EXPECT_FALSE(ask(s, *c, std::to_string(i), start, 1, intent::peek).admitted) << c->id << i;
    }
  }
  EXPECT_GT(s.stats().evicted_live, 0U);
}

// The budget is kept to the byte count that the store itself reports, whatever the states are.
TEST(Memory_store_full, Bytes_stay_within_the_budget) {
  memory_store s({.max_bytes = mib, .secret = hash128{3, 4}});
  const std::vector<counter> all{
      make("bucket", {.count = 5, .period = 1h}),
      make("burst", {.kind = algorithm::fixed_window, .count = 5, .period = 1h, .burst = 5}),
      make("log", {.kind = algorithm::sliding_window_log, .count = 100, .period = 1h})};
  for (int i = 0; i < 120'000; ++i) {
    const instant now = start + std::chrono::milliseconds{i};
    ask(s, all[static_cast<std::size_t>(i % 3)], std::to_string(i % 40'000), now);
    if (i % 1'000 == 0) {
      EXPECT_LE(s.stats().bytes, mib + mib / 100) << i;
    }
  }
  EXPECT_GT(s.stats().evicted_live, 0U);
  EXPECT_GT(s.stats().entries, 5'000U);
}

// When every candidate is refusing, the newcomer is told to wait, and the wait is true.
TEST(Memory_store_full, A_newcomer_waits_when_all_are_refusing) {
  memory_store s({.max_bytes = mib, .secret = hash128{3, 4}});
  const counter once = make("once", {.kind = algorithm::fixed_window, .count = 1, .period = 1h});
  std::string refused_key;
  verdict refused;
  for (int i = 0; i < 200'000 && refused_key.empty(); ++i) {
    const std::string key = std::to_string(i);
    const verdict v = ask(s, once, key, start);
    if (!v.admitted) refused_key = key, refused = v;
  }
  ASSERT_FALSE(refused_key.empty());
  EXPECT_EQ(s.stats().table_full, 1U);
  EXPECT_EQ(s.stats().evicted_live, 0U);
  EXPECT_FALSE(refused.never);
  EXPECT_EQ(refused.retry_after, 1h);
  EXPECT_FALSE(ask(s, once, refused_key, start + refused.retry_after - 1us).admitted);
  EXPECT_TRUE(ask(s, once, refused_key, start + refused.retry_after).admitted);
}

// States that no longer matter make room before any that do.
TEST(Memory_store_full, Expired_states_go_first) {
  memory_store s({.max_bytes = mib, .secret = hash128{3, 4}});
  const counter second = make("second", {.count = 10, .period = 1s});
  for (int i = 0; i < 200'000; ++i) {
    ask(s, second, std::to_string(i), start + std::chrono::milliseconds{i});
  }
  EXPECT_EQ(s.stats().evicted_live, 0U);
  EXPECT_EQ(s.stats().table_full, 0U);
}

// Peeking, and asking for nothing, must not push anybody out or leave anything behind.
TEST(Memory_store_full, Peeks_and_cost_0_store_nothing) {
  memory_store s({.max_bytes = mib, .secret = hash128{3, 4}});
  const counter log =
      make("log", {.kind = algorithm::sliding_window_log, .count = 5, .period = 1h});
  const counter bucket = make("bucket", {.count = 5, .period = 1h});
  for (int i = 0; i < 50'000; ++i) {
    ask(s, log, std::to_string(i), start, 1, intent::peek);
    ask(s, bucket, std::to_string(i), start, 1, intent::peek);
    ask(s, bucket, std::to_string(i), start, 0);
  }
  EXPECT_EQ(s.stats().entries, 0U);
  EXPECT_EQ(s.stats().evicted_live, 0U);
}

// A log that has no bytes to grow refuses with a wait after which it passes, and frees its bytes.
TEST(Memory_store_full, A_log_without_bytes_refuses_truly) {
  memory_store s({.max_bytes = mib, .secret = hash128{3, 4}});
  const counter log =
      make("log", {.kind = algorithm::sliding_window_log, .count = 10'000, .period = 1h});
  instant now = start;
  verdict v;
  int admitted = 0;
  for (int i = 0; i < 200'000; ++i, now += 1ms) {
    v = ask(s, log, std::to_string(i % 16), now);
    if (!v.admitted) break;
    ++admitted;
  }
  ASSERT_FALSE(v.admitted);
  EXPECT_GT(admitted, 10'000);
  EXPECT_TRUE(ask(s, log, std::to_string(admitted % 16), now + v.retry_after).admitted);
  for (int i = 0; i < 16; ++i) s.reset(log, std::to_string(i));
  EXPECT_EQ(s.stats().entries, 0U);
  EXPECT_LT(s.stats().bytes, mib / 4);
}

}  // namespace
}  // namespace penstock::store
