// A cluster of three masters and three replicas. Faults are named F… as in
// docs/decisions/0006-redis-store.md.
#include "cluster.hpp"

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "blocking_client.hpp"
#include "differential.hpp"
#include "load.hpp"
#include "store/conformance.hpp"
#include "store/redis/slots.hpp"
#include "store_runner.hpp"

namespace penstock::redis_test {
namespace {

using namespace std::chrono_literals;

class Cluster : public ::testing::Test {
 protected:
  void SetUp() override {
    PENSTOCK_NEEDS_REDIS();
    cluster_ = std::make_unique<cluster>();
  }
  std::unique_ptr<cluster> cluster_;
};

bool serves(store_runner& r, std::chrono::milliseconds patience = 10s) {
  return r.run_until([&] { return r.store().serving(); }, patience);
}

// A process that has just started must not fail open: requests wait for the map of slots, wherever
// their keys lie.
TEST_F(Cluster, TheFirstRequestsWaitForTheMap) {
  store_runner r(cluster_->url());
  EXPECT_FALSE(r.store().serving());
  load l(r, 64);
  l.run_until_answered(1'000);
  const auto seen = l.take_seen();
  EXPECT_EQ(seen.failed, 0U);
  EXPECT_EQ(seen.foreign, 0U);
  EXPECT_TRUE(serves(r));
  ASSERT_EQ(r.events().size(), 1U) << "nodes and map together are one change of state";
  EXPECT_TRUE(r.events()[0].starts_with("serving ")) << r.events()[0];
}

// No map can be had: requests that wait for one fail when that is known, later ones at once, until
// the cluster is there.
TEST_F(Cluster, FailsRequestsWhenNoNodeIsThereToTellTheMap) {
  for (std::size_t i = 0; i < 6; ++i) cluster_->node(i).stop();
  store_runner r(cluster_->url());
  const counter c = make_counter("x", {.kind = algorithm::fixed_window, .count = 9, .period = 24h});
  const auto first = r.take(c, "foo");
  EXPECT_TRUE(first.failed && !first.at_once);
  EXPECT_EQ(r.store().counts().timeouts, 0U) << "it need not wait for its deadline";
  const auto second = r.take(c, "foo");
  EXPECT_TRUE(second.failed && second.at_once);
  ASSERT_EQ(r.events().size(), 1U);
  EXPECT_TRUE(r.events()[0].starts_with("not serving ")) << r.events()[0];
  for (std::size_t i = 0; i < 6; ++i) cluster_->node(i).start();
  EXPECT_TRUE(serves(r, 30s));
  EXPECT_FALSE(r.take(c, "foo").failed);
}

// A node that accepts and says nothing holds a request up for its deadline and no longer.
TEST_F(Cluster, WaitsForTheMapNoLongerThanTheDeadline) {
  cluster_->node(0).pause();
  cluster_->node(1).pause();
  store_runner r(cluster_->url(), 50ms);
  const counter c = make_counter("x", {.kind = algorithm::fixed_window, .count = 9, .period = 24h});
  const auto first = r.take(c, "foo");
  EXPECT_TRUE(first.failed && !first.at_once);
  EXPECT_EQ(r.store().counts().timeouts, 1U);
  cluster_->node(0).resume();
  cluster_->node(1).resume();
  EXPECT_TRUE(serves(r));
  EXPECT_EQ(r.take(c, "foo").result.remaining, 8) << "what came too late was not sent";
}

// A URL that calls a single instance a cluster: said, and no request waits for ever.
TEST_F(Cluster, SaysThatANodeKnowsNoMap) {
  redis_server alone({}, free_port());
  store_runner r("redis+cluster://127.0.0.1:" + std::to_string(alone.port()));
  const counter c = make_counter("x", {.kind = algorithm::fixed_window, .count = 9, .period = 24h});
  EXPECT_TRUE(r.take(c, "foo").failed);
  EXPECT_TRUE(r.take(c, "foo").at_once);
  EXPECT_EQ(r.store().counts().timeouts, 0U);
  ASSERT_EQ(r.events().size(), 1U);
  EXPECT_NE(r.events()[0].find("cluster support disabled"), std::string::npos) << r.events()[0];
}

// The same rows where limits of one request lie on different nodes.
TEST_F(Cluster, ConformsRowByRow) {
  store_runner r(cluster_->url(), 2s, true);
  ASSERT_TRUE(serves(r));
  namespace conformance = penstock::store::conformance;
  for (const conformance::scenario& s : conformance::scenarios()) {
    const auto differences = conformance::play(
        s, {.under_test = r.store(), .finish = [&](penstock::store::batch& b) { r.wait(b); }},
        instant{std::chrono::seconds{1'800'000'000}}, s.name + ".");
    for (const std::string& line : differences) ADD_FAILURE() << s.name << ": " << line;
  }
}

// One exact meaning also across slots, as long as one request comes after the other: what is taken
// back is as if it had never been taken. A log that meets a clock going back has forgotten entries
// meanwhile, so the clock only runs here.
TEST_F(Cluster, GivesExactlyTheVerdictsOfThePlainStore) {
  const std::uint64_t start = seed();
  std::cout << "seed " << start << " (PENSTOCK_SEED)\n";
  store_runner r(cluster_->url(), 2s, true);
  ASSERT_TRUE(serves(r));
  const std::size_t steps_each = 100;
  for (std::size_t n = 0; n < scaled(100); ++n) {
    SCOPED_TRACE("world " + std::to_string(n));
    world w(start + n);
    penstock::store::plain_store plain;
    for (int i = 0; i < 4; ++i) {
      const auto kind = static_cast<algorithm>(between(w.random, 0, 4));
      w.counters.push_back(make_counter(std::to_string(n) + "." + std::to_string(i),
                                        random_quota(w.random, kind),
                                        between(w.random, 0, 4) == 0));
    }
    compare(
        w, r.store(), [&](penstock::store::batch& b) { r.wait(b); }, plain, steps_each,
        [](world& of, const quotas::compiled& q) {
          return std::max<std::int64_t>(0, random_step(of.random, q));
        });
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(r.store().counts().undone, 100U);
}

// Limits of one request on three nodes: none is charged when the last one refuses, and it costs one
// more round trip.
TEST_F(Cluster, TakesBackWhatOtherSlotsTook) {
  store_runner r(cluster_->url());
  ASSERT_TRUE(serves(r));
  const quota ten{.kind = algorithm::fixed_window, .count = 10, .period = 24h};
  const counter a = make_counter("a", ten);
  const counter b =
      make_counter("b", {.kind = algorithm::token_bucket, .count = 10, .period = 24h});
  const counter c = make_counter("c", {.kind = algorithm::fixed_window, .count = 2, .period = 24h});
  const charge all[] = {
      {.what = &a, .key = "foo"}, {.what = &b, .key = "bar"}, {.what = &c, .key = "hello"}};
  for (int i = 0; i < 5; ++i) {
    verdict v[3];
    penstock::store::batch batch{.charges = all, .verdicts = v};
    if (r.store().check(batch, {}) == penstock::store::progress::pending) r.wait(batch);
    ASSERT_FALSE(batch.failed);
    EXPECT_EQ(v[2].admitted, i < 2) << i;
    EXPECT_TRUE(v[0].admitted && v[1].admitted) << i;
    EXPECT_EQ(v[0].remaining, i < 2 ? 9 - i : 8) << i;
    EXPECT_EQ(v[1].remaining, i < 2 ? 9 - i : 8) << i;
  }
  EXPECT_EQ(r.store().counts().undone, 6U);
}

// F13: slots move under load, keys and all. No request fails and no count is lost.
TEST_F(Cluster, F13FollowsMovingSlots) {
  store_runner r(cluster_->url());
  ASSERT_TRUE(serves(r));
  const counter c =
      make_counter("m", {.kind = algorithm::fixed_window, .count = 1'000'000, .period = 24h});
  int taken = 0;
  load l(r, 32);
  const int slot = penstock::store::redis::slot_of("penstock:1:{foo}:m");
  std::size_t from = slot < 5461 ? 0 : slot < 10923 ? 1 : 2;
  for (int round = 0; round < 6; ++round) {
    const std::size_t to = (from + 1) % 3;
    cluster_->move_slot(slot, from, to, [&] {
      l.run_for(5ms);
      const auto a = r.take(c, "foo");
      ASSERT_FALSE(a.failed);
      ++taken;
      ASSERT_EQ(a.result.remaining, 1'000'000 - taken) << "round " << round;
    });
    from = to;
  }
  const auto seen = l.take_seen();
  EXPECT_EQ(seen.failed, 0U);
  EXPECT_EQ(seen.foreign, 0U);
  EXPECT_GT(r.store().counts().redirections, 0U);
  EXPECT_LE(r.store().counts().map_refreshes, 60U);
}

// F13: while a slot is half moved, a call with two of its keys is told to try again.
TEST_F(Cluster, F13WaitsForASlotThatIsHalfMoved) {
  store_runner r(cluster_->url());
  ASSERT_TRUE(serves(r));
  const counter c =
      make_counter("m", {.kind = algorithm::fixed_window, .count = 100, .period = 24h});
  const counter d =
      make_counter("n", {.kind = algorithm::fixed_window, .count = 100, .period = 24h});
  const charge both[] = {{.what = &c, .key = "foo"}, {.what = &d, .key = "foo"}};
  const int slot = penstock::store::redis::slot_of("penstock:1:{foo}:m");
  const std::size_t from = slot < 5461 ? 0 : slot < 10923 ? 1 : 2;
  int step = 0;
  verdict v[2];
  auto pending = std::make_unique<penstock::store::batch>();
  pending->charges = both;
  pending->verdicts = v;
  {
    verdict first[2];
    penstock::store::batch b{.charges = both, .verdicts = first};
    if (r.store().check(b, {}) == penstock::store::progress::pending) r.wait(b);
    ASSERT_FALSE(b.failed);
  }
  static bool answered = false;
  answered = false;
  cluster_->move_slot(slot, from, (from + 1) % 3, [&] {
    if (++step == 2) {  // one of the two keys is gone
      pending->on_done = [](penstock::store::batch&) { answered = true; };
      ASSERT_EQ(r.store().check(*pending, {}), penstock::store::progress::pending);
      r.run_for(5ms);
      EXPECT_FALSE(answered);
    }
  });
  EXPECT_TRUE(r.run_until([&] { return answered; }));
  EXPECT_FALSE(pending->failed);
  EXPECT_EQ(v[0].remaining, 98);
  EXPECT_EQ(v[1].remaining, 98);
}

// F14: a master dies and its replica takes over; the other slots never notice.
TEST_F(Cluster, F14SurvivesTheLossOfAMaster) {
  store_runner r(cluster_->url());
  ASSERT_TRUE(serves(r));
  const counter c =
      make_counter("x", {.kind = algorithm::token_bucket, .count = 1'000'000, .period = 1h});
  // "foo" lies on the third master, "bar" on the first, "hello" too.
  ASSERT_FALSE(r.take(c, "foo").failed);
  cluster_->node(2).stop();
  const auto begin = std::chrono::steady_clock::now();
  std::size_t other_failures = 0;
  bool back = false;
  while (!back && std::chrono::steady_clock::now() - begin < 15s) {
    other_failures += r.take(c, "bar").failed ? 1 : 0;
    back = !r.take(c, "foo").failed;
    if (!back) r.run_for(20ms);
  }
  EXPECT_TRUE(back);
  std::cout << "slots of the dead master were back after "
            << std::chrono::duration_cast<std::chrono::milliseconds>(
                   std::chrono::steady_clock::now() - begin)
                   .count()
            << " ms with node-timeout 2000 ms\n";
  EXPECT_EQ(other_failures, 0U);
  cluster_->node(2).start();
  EXPECT_TRUE(r.run_until([&] { return r.store().serving(); }));
}

// Every node forgets its scripts by itself.
TEST_F(Cluster, F8LoadsScriptsOnEachNode) {
  store_runner r(cluster_->url());
  ASSERT_TRUE(serves(r));
  load l(r, 32);
  for (int i = 0; i < 6; ++i) {
    l.run_for(20ms);
    cluster_->client(static_cast<std::size_t>(i) % 3).call({"SCRIPT", "FLUSH"});
  }
  l.run_for(50ms);
  const auto seen = l.take_seen();
  EXPECT_EQ(seen.failed, 0U);
  EXPECT_EQ(seen.foreign, 0U);
}

}  // namespace
}  // namespace penstock::redis_test
