#include "net/timer_wheel.hpp"

#include <memory>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::net {
namespace {

struct waiter {
  waiter() : timer([](timer_wheel::entry& e) { ++static_cast<waiter*>(e.owner)->fired; }, this) {}
  int fired = 0;
  timer_wheel::entry timer;
};

// A deadline is a promise in one direction: cutting a peer early breaks the protocol.
TEST(TimerWheel, FiresAtItsDeadlineAndNeverBefore) {
  timer_wheel wheel(20, 1'000'000);
  waiter w;
  wheel.arm(w.timer, 1'000'050);
  wheel.advance(1'000'049);
  EXPECT_EQ(w.fired, 0);
  wheel.advance(1'000'060);
  EXPECT_EQ(w.fired, 1);
  wheel.advance(1'100'000);
  EXPECT_EQ(w.fired, 1);
}

// Requests on a kept-alive connection move one deadline again and again.
TEST(TimerWheel, MovesADeadlineInBothDirections) {
  timer_wheel wheel(10, 0);
  waiter w;
  wheel.arm(w.timer, 100);
  wheel.arm(w.timer, 500);
  wheel.advance(400);
  EXPECT_EQ(w.fired, 0);
  wheel.arm(w.timer, 410);
  wheel.advance(410);
  EXPECT_EQ(w.fired, 1);
}

// A disarmed entry that is still linked must stay silent, and its owner may go.
TEST(TimerWheel, ForgetsDisarmedAndDestroyedEntries) {
  timer_wheel wheel(10, 0);
  waiter kept;
  auto gone = std::make_unique<waiter>();
  wheel.arm(kept.timer, 100);
  wheel.arm(gone->timer, 100);
  wheel.disarm(kept.timer);
  gone.reset();
  wheel.advance(1'000);
  EXPECT_EQ(kept.fired, 0);
  EXPECT_TRUE(wheel.empty());
}

// One that expires often takes others with it: a connection closes its upstream's timer too.
TEST(TimerWheel, ACallbackMayDestroyItsNeighbours) {
  timer_wheel wheel(10, 0);
  struct victim_list {
    std::vector<std::unique_ptr<timer_wheel::entry>> entries;
    int fired = 0;
  } list;
  const auto clear = [](timer_wheel::entry& e) {
    auto& l = *static_cast<victim_list*>(e.owner);
    ++l.fired;
    l.entries.clear();
  };
  for (int i = 0; i < 5; ++i) {
    list.entries.push_back(std::make_unique<timer_wheel::entry>(clear, &list));
    wheel.arm(*list.entries.back(), 50);
  }
  wheel.advance(60);
  EXPECT_EQ(list.fired, 1);
  EXPECT_TRUE(wheel.empty());
}

// A callback that arms itself for "now" must not turn the loop into an endless one.
TEST(TimerWheel, ReArmingInsideACallbackWaitsForTheNextAdvance) {
  timer_wheel wheel(10, 0);
  struct again {
    explicit again(timer_wheel& w) : wheel(w), timer(&again::expire, this) {}
    static void expire(timer_wheel::entry& e) {
      auto& self = *static_cast<again*>(e.owner);
      ++self.fired;
      self.wheel.arm(e, 0);
    }
    timer_wheel& wheel;
    int fired = 0;
    timer_wheel::entry timer;
  } a(wheel);
  wheel.arm(a.timer, 10);
  wheel.advance(10);
  EXPECT_EQ(a.fired, 1);
  wheel.advance(20);
  EXPECT_EQ(a.fired, 2);
}

// The loop sleeps until next_due(): it must never be later than the earliest deadline's slot.
TEST(TimerWheel, SaysWhenItIsDueNext) {
  timer_wheel wheel(10, 0);
  EXPECT_EQ(wheel.next_due(), timer_wheel::never_due);
  waiter near, far;
  wheel.arm(far.timer, 3'600'000);
  EXPECT_LE(wheel.next_due(), 3'600'000);
  wheel.arm(near.timer, 75);
  EXPECT_EQ(wheel.next_due(), 80);
}

// The same against a plain list of deadlines, over turns of the wheel, pauses and moves.
TEST(TimerWheel, AgreesWithASortedListOfDeadlines) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 50; ++round) {
    const std::int64_t slot = 1 + static_cast<std::int64_t>(random() % 30);
    std::int64_t now = static_cast<std::int64_t>(random() % 1'000'000);
    timer_wheel wheel(slot, now);
    std::vector<std::unique_ptr<waiter>> waiters;
    std::vector<std::int64_t> due(40, timer_wheel::never_due);
    for (int i = 0; i < 40; ++i) waiters.push_back(std::make_unique<waiter>());
    for (int step = 0; step < 400; ++step) {
      const std::size_t i = random() % waiters.size();
      if (random() % 3 != 0) {
        due[i] = now + static_cast<std::int64_t>(random() % 100'000);
        wheel.arm(waiters[i]->timer, due[i]);
      } else {
        due[i] = timer_wheel::never_due;
        wheel.disarm(waiters[i]->timer);
      }
      now += static_cast<std::int64_t>(random() % (random() % 10 == 0 ? 50'000 : 200));
      std::vector<int> before;
      for (const auto& w : waiters) before.push_back(w->fired);
      wheel.advance(now);
      for (std::size_t k = 0; k < waiters.size(); ++k) {
        const bool fired = waiters[k]->fired > before[k];
        if (fired) {
          EXPECT_LE(due[k], now);
          due[k] = timer_wheel::never_due;
        } else if (due[k] != timer_wheel::never_due) {
          EXPECT_GT(due[k] + slot, now) << "late, seed 7, round " << round;
        }
      }
    }
  }
}

}  // namespace
}  // namespace penstock::net
