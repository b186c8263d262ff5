// A full store: who goes, who stays, and how many bytes it holds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
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

int scale() {
  const char* text = std::getenv("PENSTOCK_SCALE");
  return text == nullptr ? 1 : std::max(1, std::atoi(text));
}

// Twenty times as many made-up keys as the table has slots: it stays within its bytes, whoever was
// exhausted before stays refused, and no call looks at more than a few states.
TEST(Memory_store_full, A_flood_of_twenty_tables_costs_no_more_than_its_budget) {
  memory_store s({.max_bytes = mib, .secret = hash128{3, 4}});
  constexpr int slots = mib / 8 * 7 / 16;
  const counter bucket = make("bucket", {.count = 5, .period = 1h});
  const counter window =
      make("window", {.kind = algorithm::fixed_window, .count = 5, .period = 1h});
  const counter log =
      make("log", {.kind = algorithm::sliding_window_log, .count = 5, .period = 1h});
  const std::vector<const counter*> all{&bucket, &window, &log};
  const auto probe = [](int i) { return "probe" + std::to_string(i); };
  for (const counter* c : all) {
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(ask(s, *c, probe(i), start, 5).admitted);
  }
  std::uint64_t most_looked_at = 0;
  std::uint64_t most_bytes = 0;
  std::uint64_t before = 0;
  for (int i = 0; i < 20 * slots * scale(); ++i) {
    const bool sampled = i % 16 == 0;
    if (sampled) before = s.stats().looked_at;
    const counter& c = i % 64 == 0 ? log : i % 2 == 0 ? bucket : window;
    ask(s, c, std::to_string(i), start + duration{i});
    if (!sampled) continue;
    const memory_stats now = s.stats();
    most_looked_at = std::max(most_looked_at, now.looked_at - before);
    most_bytes = std::max(most_bytes, now.bytes);
  }
  const instant late = start + duration{20LL * slots * scale()};
  int refused = 0;
  for (const counter* c : all) {
    for (int i = 0; i < 100; ++i) refused += ask(s, *c, probe(i), late, 4).admitted ? 0 : 1;
  }
  EXPECT_EQ(refused, 300);
  EXPECT_LE(most_bytes, mib + mib / 100);
  EXPECT_LE(most_looked_at, 88U);
  EXPECT_GT(s.stats().evicted_live, 10U * slots);
  std::printf("flood: at most %llu bytes of %zu, at most %llu states looked at in a call\n",
              static_cast<unsigned long long>(most_bytes), mib,
              static_cast<unsigned long long>(most_looked_at));
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
