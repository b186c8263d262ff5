// Once warm, the client allocates nothing: not for a check, a refund or a record, not with many
// requests in flight, over TLS, or where a Cluster takes back what some slots took. This file
// counts every operator new of its thread.
#include <array>
#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/counted_new_test_support.hpp"
#include "cluster.hpp"
#include "redis_server.hpp"
#include "store_runner.hpp"

namespace penstock::redis_test {
namespace {

using namespace std::chrono_literals;

// Rounds of many requests at once, each with all limits; every few rounds units are given back and
// taken afterwards, as gateways do for failed upstreams and for costs known late.
class rounds {
 public:
  rounds(store_runner& on, bool across_slots) : runner_(on) {
    for (int i = 0; i <= static_cast<int>(algorithm::leaky_bucket); ++i) {
      quota q{.kind = static_cast<algorithm>(i), .count = 40, .period = 1s};
      if (q.kind == algorithm::leaky_bucket) q.queue = 10;
      limits_.push_back(make_counter(std::string(to_string(q.kind)), q));
    }
    for (std::size_t i = 0; i < lanes; ++i) keys_[i] = "user:" + std::to_string(i % 16);
    for (std::size_t i = 0; i < lanes; ++i) {
      for (const counter& c : limits_) {
        // A limit of a key of its own lives in another slot.
        const bool apart = across_slots && c.quota.source.kind == algorithm::fixed_window;
        charges_[i].push_back({.what = &c, .key = apart ? keys_[(i + 1) % lanes] : keys_[i]});
      }
      verdicts_[i].resize(charges_[i].size());
    }
  }

  bool run(int count) {
    for (int n = 0; n < count; ++n) {
      open_ = 0;
      for (std::size_t i = 0; i < lanes; ++i) {
        one& o = batches_[i];
        o.of = this;
        o.b = {.charges = charges_[i], .verdicts = verdicts_[i]};
        o.b.on_done = &rounds::done;
        if (runner_.store().check(o.b, instant{}) == store::progress::done) return false;
        ++open_;
      }
      if (!runner_.run_until([this] { return open_ == 0; })) return false;
      const instant at = batches_[0].b.decided_at;
      if (n % 4 == 0) runner_.store().refund(charges_[0], at, instant{});
      if (n % 4 == 1) runner_.store().record(charges_[1], instant{});
    }
    return failed_ == 0;
  }

  std::size_t refused = 0;

 private:
  static constexpr std::size_t lanes = 64;

  struct one {
    store::batch b;  // first: the callback gets its address
    rounds* of = nullptr;
  };

  static void done(store::batch& b) {
    rounds& of = *reinterpret_cast<one&>(b).of;
    --of.open_;
    of.failed_ += b.failed ? 1 : 0;
    for (const verdict& v : b.verdicts) {
      if (!v.admitted) {
        ++of.refused;
        return;
      }
    }
  }

  store_runner& runner_;
  std::deque<counter> limits_;
  std::array<std::string, lanes> keys_;
  std::array<std::vector<charge>, lanes> charges_;
  std::array<std::vector<verdict>, lanes> verdicts_;
  std::array<one, lanes> batches_;
  std::size_t open_ = 0;
  std::size_t failed_ = 0;
};

void expect_no_allocation(store_runner& runner, bool across_slots) {
  ASSERT_TRUE(runner.run_until([&] { return runner.store().serving(); }));
  rounds r(runner, across_slots);
  ASSERT_TRUE(r.run(150)) << "warm";
  const std::size_t before = allocations;
  ASSERT_TRUE(r.run(100));
  EXPECT_EQ(allocations, before) << "in 6,400 requests";
  EXPECT_GT(r.refused, 0U) << "both outcomes were met";
}

// The common case: every request is one script call.
TEST(Allocation, NoneOnceWarm) {
  PENSTOCK_NEEDS_REDIS();
  redis_server server;
  store_runner runner("unix://" + server.socket_path());
  expect_no_allocation(runner, false);
}

// Several parts, images of what was stored, and second calls that take back.
TEST(Allocation, NoneOnceWarmAcrossSlots) {
  PENSTOCK_NEEDS_REDIS();
  cluster six;
  store_runner runner(six.url());
  expect_no_allocation(runner, true);
  EXPECT_GT(runner.store().counts().undone, 0U);
}

}  // namespace
}  // namespace penstock::redis_test
