// What must hold when threads meet: never one unit too many, none lost, all or nothing.
#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "quota/testdata/subject.hpp"
#include "store/memory/memory_store.hpp"
#include "store/memory/stepping.hpp"

namespace penstock::store {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t mib = std::size_t{1} << 20U;
const instant start{1'800'000'000s};

int scale() {
  const char* text = std::getenv("PENSTOCK_SCALE");
  return text == nullptr ? 1 : std::max(1, std::atoi(text));
}

counter make(const char* id, algorithm kind, std::int64_t count) {
  return {.id = id,
          .quota = quotas::testdata::compile_or_throw(
              {.kind = kind, .count = count, .period = std::chrono::hours{24}})};
}

template <class Table>
std::vector<verdict> ask(Table& table, const std::vector<charge>& charges,
                         intent why = intent::take) {
  std::vector<verdict> verdicts(charges.size());
  batch b;
  b.charges = charges;
  b.verdicts = verdicts;
  b.why = why;
  table.check(b, start);
  return verdicts;
}

bool all_admitted(const std::vector<verdict>& verdicts) {
  return std::all_of(verdicts.begin(), verdicts.end(), [](const verdict& v) { return v.admitted; });
}

template <class Table>
std::int64_t used(Table& table, const counter& what, std::string_view key) {
  const verdict v = ask(table, {{.what = &what, .key = key, .cost = 0}}, intent::peek)[0];
  return v.limit - v.remaining;
}

// The real lock, with the core offered to the others just before it is taken: so that threads meet
// at it although the lock is held for nanoseconds.
struct crowded_lock {
  static void lock(std::atomic<std::uint32_t>& word) {
    sched_yield();
    spin_lock::lock(word);
  }
  static void unlock(std::atomic<std::uint32_t>& word) { spin_lock::unlock(word); }
  static void inside() {}
};

struct span_of_call {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool admitted = false;
};

// The last unit of a new key, wanted by four threads at once, goes to exactly one of them. Counted
// are the keys where the winner's call overlapped another one: 3/n bounds the rate of violations
// with 95 % confidence (rule of three).
TEST(Memory_store_threads, The_last_unit_goes_to_one) {
  constexpr std::size_t threads = 4;
  constexpr std::size_t keys = 512;
  const auto wanted = static_cast<std::size_t>(10'000 * scale());
  const std::array<counter, 3> limits{make("fixed", algorithm::fixed_window, 1),
                                      make("bucket", algorithm::token_bucket, 1),
                                      make("log", algorithm::sliding_window_log, 1)};
  std::size_t contests = 0;
  std::size_t rounds = 0;
  for (; contests < wanted && rounds < 5'000 * static_cast<std::size_t>(scale()); ++rounds) {
    memory_table<crowded_lock> table(mib, hash128{rounds, 1});
    const counter& what = limits[rounds % limits.size()];
    std::vector<std::array<span_of_call, threads>> calls(keys);
    std::atomic<std::uint64_t> time{0};
    std::barrier together(threads);
    std::vector<std::thread> running;
    for (std::size_t t = 0; t < threads; ++t) {
      running.emplace_back([&, t] {
        together.arrive_and_wait();
        for (std::size_t k = 0; k < keys; ++k) {
          span_of_call& call = calls[k][t];
          const std::string key = std::to_string(k);
          call.begin = ++time;
          call.admitted = ask(table, {{.what = &what, .key = key}})[0].admitted;
          call.end = ++time;
        }
      });
    }
    for (std::thread& t : running) t.join();
    for (const auto& of_key : calls) {
      const auto won = [](const span_of_call& c) { return c.admitted; };
      ASSERT_EQ(std::count_if(of_key.begin(), of_key.end(), won), 1);
      const span_of_call& winner = *std::find_if(of_key.begin(), of_key.end(), won);
      contests += std::any_of(of_key.begin(), of_key.end(), [&](const span_of_call& c) {
        return &c != &winner && c.begin < winner.end && winner.begin < c.end;
      });
    }
    // The first touch of a key by many threads makes one entry.
    ASSERT_EQ(table.stats().entries, keys);
  }
  RecordProperty("last_unit_contests", static_cast<int>(contests));
  std::printf("last-unit contests: %zu in %zu rounds\n", contests, rounds);
  EXPECT_GE(contests, wanted);
}

// Whatever threads take in batches of three limits, each limit holds exactly what was admitted.
TEST(Memory_store_threads, What_is_stored_is_what_was_admitted) {
  constexpr std::size_t threads = 4;
  const int steps = 5'000 * scale();
  const std::array<counter, 3> limits{make("fixed", algorithm::fixed_window, 100'000'000),
                                      make("log", algorithm::sliding_window_log, 5'000),
                                      make("counter", algorithm::sliding_window_counter, 9'000)};
  const std::array<std::string, 4> keys{"a", "b", "c", "d"};
  memory_table<crowded_lock> table(8 * mib, hash128{1, 2});
  std::array<std::array<std::atomic<std::int64_t>, 4>, 3> taken{};
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < steps; ++i) {
        std::array<std::size_t, 3> key_of{};
        std::vector<charge> charges;
        for (std::size_t l = 0; l < 3; ++l) {
          key_of[l] = random() % 4;
          charges.push_back({.what = &limits[l],
                             .key = keys[key_of[l]],
                             .cost = static_cast<std::int64_t>(1 + random() % 3)});
        }
        if (!all_admitted(ask(table, charges))) continue;
        for (std::size_t l = 0; l < 3; ++l) taken[l][key_of[l]] += charges[l].cost;
      }
    });
  }
  for (std::thread& t : running) t.join();
  for (std::size_t l = 0; l < 3; ++l) {
    for (std::size_t k = 0; k < 4; ++k) {
      EXPECT_EQ(used(table, limits[l], keys[k]), taken[l][k].load()) << limits[l].id << keys[k];
    }
  }
  EXPECT_EQ(
      std::max({taken[1][0].load(), taken[1][1].load(), taken[1][2].load(), taken[1][3].load()}),
      5'000);
}

// Growth, eviction, resets, refunds and readers at once: for ThreadSanitizer, and no byte is lost.
TEST(Memory_store_threads, Everything_at_once_loses_no_byte) {
  const std::array<counter, 3> limits{make("bucket", algorithm::token_bucket, 10),
                                      make("log", algorithm::sliding_window_log, 10),
                                      make("queue", algorithm::leaky_bucket, 10)};
  memory_table<spin_lock> table(mib, hash128{1, 2});
  const std::uint64_t before = table.stats().bytes;
  constexpr int distinct = 20'000;
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < 3; ++t) {
    running.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 20'000 * scale(); ++i) {
        const counter& what = limits[random() % 3];
        const std::string key = std::to_string(random() % distinct);
        const charge one{.what = &what, .key = key};
        switch (random() % 8) {
          case 0:
            table.reset(what, key);
            break;
          case 1:
            table.refund({&one, 1}, start, start);
            break;
          case 2:
            table.record({&one, 1}, start);
            break;
          case 3:
            ask(table, {one}, intent::peek);
            break;
          default:
            ask(table, {one, {.what = &limits[0], .key = "shared"}});
        }
        if (i % 1'000 == 0) (void)table.stats();
      }
    });
  }
  for (std::thread& t : running) t.join();
  EXPECT_LE(table.stats().bytes, mib + mib / 100);
  for (const counter& what : limits) {
    for (int k = 0; k < distinct; ++k) table.reset(what, std::to_string(k));
  }
  table.reset(limits[0], "shared");
  EXPECT_EQ(table.stats().entries, 0U);
  EXPECT_LT(table.stats().bytes, mib);
  EXPECT_GE(table.stats().bytes, before);
}

struct outcomes {
  std::size_t orders = 0;
  std::size_t violations = 0;
  std::size_t waits = 0;
};

// Every order of two threads with two checks each and of three with one, on a limit of `count`.
template <class Lock>
outcomes every_order(std::size_t threads, std::size_t checks, std::int64_t count, algorithm kind) {
  const counter what = make("l", kind, count);
  std::optional<memory_table<Lock>> table;
  std::atomic<std::int64_t> admitted{0};
  stepping::scheduler all;
  outcomes seen;
  seen.orders = all.run_all(
      [&] {
        table.emplace(mib, hash128{1, 2});
        admitted = 0;
        return stepping::scheduler::program(threads, [&] {
          for (std::size_t i = 0; i < checks; ++i) {
            if (ask(*table, {{.what = &what, .key = "k"}})[0].admitted) ++admitted;
          }
        });
      },
      [&] {
        const bool right = admitted == count && used(*table, what, "k") == count;
        seen.violations += right ? 0 : 1;
      });
  seen.waits = all.waits();
  return seen;
}

// All interleavings of small programs: none admits too much or too little, and in some a thread did
// stand before the lock.
TEST(Memory_store_orders, No_order_overspends) {
  for (const algorithm kind :
       {algorithm::fixed_window, algorithm::token_bucket, algorithm::sliding_window_log}) {
    for (const auto& [threads, checks] : {std::pair<std::size_t, std::size_t>{2, 2}, {3, 1}}) {
      const outcomes seen = every_order<stepping::stepping_lock>(threads, checks, 2, kind);
      EXPECT_EQ(seen.violations, 0U);
      EXPECT_GT(seen.orders, 10U);
      EXPECT_GT(seen.waits, 0U);
    }
  }
}

// The same programs on a lock that keeps nobody out: if this finds nothing, the test above is
// blind.
TEST(Memory_store_orders, A_missing_lock_is_found) {
  const outcomes seen = every_order<stepping::no_lock>(2, 1, 1, algorithm::fixed_window);
  EXPECT_GT(seen.violations, 0U);
  EXPECT_LT(seen.violations, seen.orders);
}

// Two batches over the same limits in opposite order, one unit left in each: one batch gets both
// units, the other none; no order deadlocks.
TEST(Memory_store_orders, Batches_are_all_or_nothing_in_every_order) {
  const std::array<counter, 3> limits{make("a", algorithm::fixed_window, 1),
                                      make("b", algorithm::sliding_window_log, 1),
                                      make("c", algorithm::token_bucket, 1)};
  std::optional<memory_table<stepping::stepping_lock>> table;
  std::array<bool, 2> passed{};
  stepping::scheduler all;
  const std::size_t orders = all.run_all(
      [&] {
        table.emplace(mib, hash128{1, 2});
        const auto side = [&](std::size_t i) {
          return [&, i] {
            std::vector<charge> charges;
            for (const counter& c : limits) charges.push_back({.what = &c, .key = "k"});
            if (i == 1) std::reverse(charges.begin(), charges.end());
            passed[i] = all_admitted(ask(*table, charges));
          };
        };
        return stepping::scheduler::program{side(0), side(1)};
      },
      [&] {
        EXPECT_NE(passed[0], passed[1]);
        for (const counter& c : limits) EXPECT_EQ(used(*table, c, "k"), 1);
      });
  EXPECT_GT(orders, 2U);
  EXPECT_GT(all.waits(), 0U);
}

// Three threads with three calls each on two limits: single checks, and batches in both orders.
template <class Lock>
class three_by_three {
 public:
  three_by_three(algorithm first, algorithm second)
      : both_{make("first", first, 5), make("second", second, 3)} {}

  stepping::scheduler::program start_over() {
    table_.emplace(mib, hash128{1, 2});
    singles_ = batches_ = 0;
    const auto thrice = [this](std::atomic<std::int64_t>& passed, std::vector<charge> charges) {
      return [this, &passed, charges = std::move(charges)] {
        for (int i = 0; i < 3; ++i) {
          if (all_admitted(ask(*table_, charges))) ++passed;
        }
      };
    };
    const charge one{.what = &both_[0], .key = "k"};
    const charge other{.what = &both_[1], .key = "k"};
    return {thrice(singles_, {one}), thrice(batches_, {one, other}),
            thrice(batches_, {other, one})};
  }

  // What is stored is what was admitted, and nobody was refused while there was room.
  void verify() {
    const bool kept = used(*table_, both_[0], "k") == singles_ + batches_ &&
                      used(*table_, both_[1], "k") == batches_ && singles_ + batches_ <= 5 &&
                      batches_ <= 3;
    const bool no_one_in_vain = singles_ + batches_ == 5 || (singles_ == 3 && batches_ == 3);
    if (!kept || !no_one_in_vain) ++violations_;
  }

  [[nodiscard]] std::size_t violations() const { return violations_; }

 private:
  std::array<counter, 2> both_;
  std::optional<memory_table<Lock>> table_;
  std::atomic<std::int64_t> singles_{0};
  std::atomic<std::int64_t> batches_{0};
  std::size_t violations_ = 0;
};

// Every order with up to two preemptions (three in long runs): most faults between threads need no
// more.
TEST(Memory_store_orders, Three_threads_with_three_calls_in_every_order_of_few_preemptions) {
  three_by_three<stepping::stepping_lock> all(algorithm::fixed_window,
                                              algorithm::sliding_window_log);
  stepping::scheduler scheduler;
  const std::size_t orders = scheduler.run_all([&] { return all.start_over(); },
                                               [&] { all.verify(); }, scale() > 1 ? 3 : 2);
  std::printf("3 threads x 3 calls, few preemptions: %zu orders\n", orders);
  EXPECT_EQ(all.violations(), 0U);
  EXPECT_GT(orders, 1'000U);
  EXPECT_GT(scheduler.waits(), 0U);
}

constexpr std::size_t steps_of_three_by_three = 21;

// Random schedules with more switches than can be tried one by one.
TEST(Memory_store_orders, Three_threads_with_three_calls_in_random_orders) {
  constexpr std::uint64_t seed = 20'261'130;
  const auto orders = static_cast<std::size_t>(250 * scale());
  for (const std::size_t changes : {std::size_t{2}, std::size_t{5}}) {
    for (const algorithm kind : {algorithm::token_bucket, algorithm::sliding_window_counter}) {
      three_by_three<stepping::stepping_lock> all(kind, algorithm::fixed_window);
      stepping::scheduler scheduler;
      scheduler.run_random([&] { return all.start_over(); }, [&] { all.verify(); }, orders, changes,
                           steps_of_three_by_three, seed + changes);
      EXPECT_EQ(all.violations(), 0U) << "seed " << seed + changes;
      EXPECT_GT(scheduler.waits(), 0U);
    }
  }
}

// And on a lock that keeps nobody out they find what is wrong.
TEST(Memory_store_orders, Random_orders_find_a_missing_lock) {
  three_by_three<stepping::no_lock> all(algorithm::fixed_window, algorithm::fixed_window);
  stepping::scheduler scheduler;
  scheduler.run_random([&] { return all.start_over(); }, [&] { all.verify(); }, 50, 2,
                       steps_of_three_by_three, 1);
  EXPECT_GT(all.violations(), 0U);
}

}  // namespace
}  // namespace penstock::store
