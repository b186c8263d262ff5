// Which counter a counter object is: by what is in it, however objects come, go and are copied.
#include "store/memory/known_counters.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::store {
namespace {

using namespace std::chrono_literals;

counter limit_named(const std::string& id, std::int64_t count) {
  return {.id = id, .quota = quotas::compile({.count = count, .period = 1s}).value()};
}

// A reload makes new objects of the same limits: their counts must go on.
TEST(Known_counters, Equal_objects_are_one_counter) {
  known_counters known(hash128{1, 2});
  const counter first = limit_named("a", 10);
  const counter copy = first;
  EXPECT_NE(first.serial.value(), copy.serial.value());
  EXPECT_EQ(&known.find(first), &known.find(copy));
}

// The allocator gives a new policy the addresses of the one before: nothing may be mistaken.
TEST(Known_counters, Another_counter_at_the_same_address_is_another) {
  known_counters known(hash128{1, 2});
  counter here = limit_named("a", 10);
  const known_counter* const a = &known.find(here);
  here = limit_named("b", 10);
  EXPECT_EQ(known.find(here).id, "b");
  here = limit_named("a", 20);
  EXPECT_EQ(known.find(here).quota->quota.source.count, 20);
  here = limit_named("a", 10);
  EXPECT_EQ(&known.find(here), a);
}

// More objects than places, so that they push each other out all the time.
TEST(Known_counters, Every_object_is_found_also_when_places_are_short) {
  known_counters known(hash128{1, 2});
  std::vector<counter> many;
  for (int i = 0; i < 5'000; ++i) many.push_back(limit_named("l" + std::to_string(i % 1'000), 10));
  for (int round = 0; round < 2; ++round) {
    for (const counter& c : many) ASSERT_EQ(known.find(c).id, c.id);
  }
}

// Readers hold no lock while writers replace what they read.
TEST(Known_counters, Threads_that_push_each_other_out_find_their_own) {
  known_counters known(hash128{1, 2});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::vector<counter> mine;
      for (int i = 0; i < 1'500; ++i) {
        mine.push_back(limit_named("t" + std::to_string(t) + "-" + std::to_string(i % 50), 10));
      }
      for (int round = 0; round < 20; ++round) {
        for (const counter& c : mine) wrong += known.find(c).id == c.id ? 0 : 1;
      }
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace penstock::store
