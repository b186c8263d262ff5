// The memory store against the plain one on random traces: every verdict equal, to the tick.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "quota/testdata/subject.hpp"
#include "store/memory/memory_store.hpp"
#include "store/plain_store.hpp"

namespace penstock::store {
namespace {

using namespace std::chrono_literals;
using enum algorithm;

int scale() {
  const char* text = std::getenv("PENSTOCK_SCALE");
  return text == nullptr ? 1 : std::max(1, std::atoi(text));
}

// Limits of every algorithm and every layout of a state; equal ids are one limit before and after a
// change of its numbers, with and without a common tick.
std::vector<counter> limits() {
  const auto make = [](const char* id, const quota& q, bool count_denied = false) {
    return counter{
        .id = id, .quota = quotas::testdata::compile_or_throw(q), .count_denied = count_denied};
  };
  return {
      make("bucket", {.count = 3, .period = 1s}),
      make("bucket", {.count = 5, .period = 1s, .burst = 9}),
      make("bucket", {.count = 1'000'003, .period = 1s, .burst = 4}),
      make("bucket_denied", {.count = 2, .period = 1s}, true),
      make("big_bucket", {.count = 1'000'000'000, .period = 24h}),
      make("fixed", {.kind = fixed_window, .count = 4, .period = 2s}),
      make("fixed", {.kind = fixed_window, .count = 9'007'199'254'740'991, .period = 2s}),
      make("fixed_burst", {.kind = fixed_window, .count = 2, .period = 1s, .burst = 3}),
      make("fixed_denied", {.kind = fixed_window, .count = 5, .period = 3s}, true),
      make("counter", {.kind = sliding_window_counter, .count = 6, .period = 2s}),
      make("counter", {.kind = sliding_window_counter, .count = 3'000'000, .period = 2s}),
      make("log", {.kind = sliding_window_log, .count = 5, .period = 2s}),
      make("log", {.kind = sliding_window_log, .count = 2, .period = 2s}),
      make("log_denied", {.kind = sliding_window_log, .count = 3, .period = 1s}, true),
      make("queue", {.kind = leaky_bucket, .count = 2, .period = 1s, .queue = 3}),
      make("none", {.count = 0, .period = 1s}),
  };
}

class trace {
 public:
  explicit trace(std::uint64_t seed) : random_(seed), limits_(limits()), memory_({}) {}

  void play(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      now_ += step_of_time();
      choose_charges();
      switch (pick(12)) {
        case 0:
          memory_.reset(*charges_[0].what, charges_[0].key);
          plain_.reset(*charges_[0].what, charges_[0].key);
          break;
        case 1: {
          const instant charged_at = pick(2) == 0 ? now_ : now_ - duration{pick(2'000'000)};
          memory_.refund(charges_, charged_at, now_);
          plain_.refund(charges_, charged_at, now_);
          break;
        }
        case 2:
          memory_.record(charges_, now_);
          plain_.record(charges_, now_);
          break;
        case 3:
          compare(intent::peek);
          break;
        default:
          compare(intent::take);
      }
    }
  }

 private:
  std::int64_t pick(std::int64_t below) {
    return std::uniform_int_distribution<std::int64_t>(0, below - 1)(random_);
  }

  duration step_of_time() {
    switch (pick(20)) {
      case 0:
        return duration{-pick(3'000'000)};  // a clock that goes back
      case 1:
        return duration{pick(20'000'000)};
      case 2:
        return duration{0};
      default:
        return duration{pick(300'000)};
    }
  }

  void choose_charges() {
    static const std::array<std::string, 3> keys{"a", "b", "a long key of more than one block"};
    charges_.clear();
    const std::int64_t n = pick(3) == 0 ? 1 + pick(6) : 1;
    for (std::int64_t i = 0; i < n; ++i) {
      charges_.push_back(
          {.what =
               &limits_[static_cast<std::size_t>(pick(static_cast<std::int64_t>(limits_.size())))],
           .key = keys[static_cast<std::size_t>(pick(3))],
           .cost = pick(10) == 0 ? pick(12) : 1 + pick(2),
           .as = pick(6) == 0 ? role::shadow : role::enforce,
           .only_check = pick(8) == 0});
    }
  }

  void compare(intent why) {
    std::vector<verdict> of_memory(charges_.size());
    std::vector<verdict> of_plain(charges_.size());
    batch b;
    b.charges = charges_;
    b.why = why;
    b.verdicts = of_memory;
    memory_.check(b, now_);
    b.verdicts = of_plain;
    plain_.check(b, now_);
    for (std::size_t i = 0; i < charges_.size(); ++i) {
      EXPECT_EQ(of_memory[i], of_plain[i])
          << charges_[i].what->id << " charge " << i << " of " << charges_.size() << " cost "
          << charges_[i].cost << " remaining " << of_memory[i].remaining << " and "
          << of_plain[i].remaining;
    }
  }

  std::mt19937_64 random_;
  std::vector<counter> limits_;
  std::vector<charge> charges_;
  memory_store memory_;
  plain_store plain_;
  instant now_{std::chrono::seconds{1'800'000'000}};
};

// The layouts of states, the fast path and the working copies must not change one answer.
TEST(Memory_store_random, Answers_as_the_plain_store) {
  const int traces = 30 * scale();
  for (int seed = 1; seed <= traces && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    trace(static_cast<std::uint64_t>(seed)).play(2'000);
  }
}

}  // namespace
}  // namespace penstock::store
