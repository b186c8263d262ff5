#include "service/service.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "store/memory/memory_store.hpp"

namespace penstock::service {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

constexpr instant noon{std::chrono::microseconds{1'700'000'000'000'000}};

// A store that answers when told to, or says that it cannot.
class slow_store final : public store::store {
 public:
  penstock::store::progress check(penstock::store::batch& b, instant) override {
    waiting = &b;
    return penstock::store::progress::pending;
  }
  void abandon(penstock::store::batch& b) override {
    if (waiting == &b) waiting = nullptr;
    ++abandoned;
  }
  void refund(std::span<const charge>, instant, instant) override { ++refunds; }
  void reset(const counter&, std::string_view) override {}

  void answer(bool failed, bool admitted = true) {
    auto* b = std::exchange(waiting, nullptr);
    b->failed = failed;
    for (auto& v : b->verdicts) v = {.admitted = admitted, .limit = 3, .remaining = 2};
    b->on_done(*b);
  }

  penstock::store::batch* waiting = nullptr;
  int abandoned = 0;
  int refunds = 0;
};

policy::limit_spec limit(std::string name, std::int64_t count, policy::store_failure on_failure) {
  policy::limit_spec l;
  l.name = std::move(name);
  l.key = {.alternatives = {{{.kind = policy::key_kind::global}}}, .text = "global"};
  l.rate.quotas = {{.kind = algorithm::fixed_window, .count = count, .period = hours{1}}};
  l.on_store_failure = on_failure;
  return l;
}

struct fixture {
  explicit fixture(std::vector<policy::limit_spec> limits, std::int64_t fleet = 1) {
    policy::policy_spec spec;
    spec.limits = std::move(limits);
    policy = policy::compile(spec).value();
    local = penstock::store::memory_store::create({}).value();
    service.emplace(store, policy, service_options{.local = local.get(), .fleet_size = fleet});
    x.request = {.method = "GET", .path = "/", .host = "h"};
    x.on_decided = [](exchange_context& context) { ++*static_cast<int*>(context.owner); };
    x.owner = &decided;
  }
  slow_store store;
  std::shared_ptr<const policy::compiled_policy> policy;
  std::unique_ptr<penstock::store::memory_store> local;
  std::optional<class service> service;
  exchange_context x;
  int decided = 0;
};

// A pending store must not hold the loop: the face is called back once, with the decision filled
// in.
TEST(Service, AnswersWhenTheStoreDoes) {
  fixture f({limit("a", 3, policy::store_failure::deny)});
  ASSERT_EQ(f.service->decide(f.x, noon), answer::pending);
  EXPECT_EQ(f.decided, 0);
  f.store.answer(false);
  EXPECT_EQ(f.decided, 1);
  EXPECT_EQ(f.x.decision.what, policy::outcome::allow);
}

// A client that left must leave nothing that a late answer could touch.
TEST(Service, ACancelledExchangeIsForgottenByTheStore) {
  fixture f({limit("a", 3, policy::store_failure::deny)});
  ASSERT_EQ(f.service->decide(f.x, noon), answer::pending);
  f.service->cancel(f.x, noon);
  EXPECT_EQ(f.store.abandoned, 1);
  EXPECT_EQ(f.store.waiting, nullptr);
}

struct failure_row {
  const char* name;
  std::vector<policy::limit_spec> limits;
  policy::outcome want;
  int status;
};

// What an outage means is each limit's own word; one that denies decides for the request.
TEST(Service, AnOutageIsDecidedByEachLimit) {
  using enum policy::store_failure;
  const failure_row rows[] = {
      {"allow", {limit("a", 3, allow)}, policy::outcome::degraded_allow, 200},
      {"deny", {limit("a", 3, deny)}, policy::outcome::degraded_deny, 503},
      {"local", {limit("a", 3, local)}, policy::outcome::degraded_allow, 200},
      {"allow and deny",
       {limit("a", 3, allow), limit("b", 3, deny)},
       policy::outcome::degraded_deny,
       503},
      {"local and deny",
       {limit("a", 3, local), limit("b", 3, deny)},
       policy::outcome::degraded_deny,
       503},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    fixture f(row.limits);
    ASSERT_EQ(f.service->decide(f.x, noon), answer::pending);
    f.store.answer(true);
    EXPECT_EQ(f.x.decision.what, row.want);
    EXPECT_EQ(f.x.decision.status, row.status);
    EXPECT_EQ(f.x.decision.headers.find("Retry-After: 1\r\n") != std::string::npos,
              row.status == 503);
  }
}

// A fleet of n must not admit n times the limit while each process counts alone.
TEST(Service, LocalCountsItsShareOfTheFleet) {
  for (const auto& [count, fleet, share] :
       {std::tuple{10, 5, 2}, {10, 3, 3}, {2, 5, 1}, {0, 5, 0}}) {
    fixture f({limit("a", count, policy::store_failure::local)}, fleet);
    int passed = 0;
    for (int i = 0; i < 12; ++i) {
      ASSERT_EQ(f.service->decide(f.x, noon), answer::pending);
      f.store.answer(true);
      passed += f.x.decision.what == policy::outcome::degraded_allow ? 1 : 0;
    }
    EXPECT_EQ(passed, share) << count << " over " << fleet;
    EXPECT_EQ(f.x.decision.what, policy::outcome::deny);
    EXPECT_EQ(f.x.decision.status, 429);
  }
}

// A refusal by the store is not an outage: the local table must stay untouched.
TEST(Service, ARefusalIsNeverTakenForAFailure) {
  fixture f({limit("a", 3, policy::store_failure::local)});
  ASSERT_EQ(f.service->decide(f.x, noon), answer::pending);
  f.store.answer(false, false);
  EXPECT_EQ(f.x.decision.what, policy::outcome::deny);
  ASSERT_EQ(f.service->decide(f.x, noon), answer::pending);
  f.store.answer(true);
  EXPECT_EQ(f.x.decision.what, policy::outcome::degraded_allow);
}

// Requests in flight are judged by one policy from beginning to end.
TEST(Service, AReloadDoesNotTouchARequestInFlight) {
  fixture f({limit("old", 3, policy::store_failure::deny)});
  ASSERT_EQ(f.service->decide(f.x, noon), answer::pending);
  policy::policy_spec next;
  next.limits = {limit("new", 3, policy::store_failure::allow)};
  f.service->use(policy::compile(next).value());
  f.store.answer(true);
  EXPECT_EQ(f.x.decision.what, policy::outcome::degraded_deny);
  ASSERT_EQ(f.service->decide(f.x, noon), answer::pending);
  f.store.answer(true);
  EXPECT_EQ(f.x.decision.what, policy::outcome::degraded_allow);
}

// A client that leaves the queue frees its place; one whose request was only admitted frees
// nothing.
TEST(Service, LeavingTheQueueGivesThePlaceBack) {
  policy::policy_spec spec;
  spec.limits = {limit("queue", 1, policy::store_failure::deny)};
  spec.limits[0].rate.quotas = {
      {.kind = algorithm::leaky_bucket, .count = 1, .period = seconds{10}, .queue = 1}};
  auto memory = penstock::store::memory_store::create({}).value();
  class service s(*memory, policy::compile(spec).value());
  exchange_context first, second, third;
  for (auto* x : {&first, &second, &third})
    x->request = {.method = "GET", .path = "/", .host = "h"};
  ASSERT_EQ(s.decide(first, noon), answer::ready);
  EXPECT_EQ(first.decision.what, policy::outcome::allow);
  const instant later = noon + seconds{1};
  ASSERT_EQ(s.decide(second, later), answer::ready);
  EXPECT_EQ(second.decision.what, policy::outcome::delay);
  EXPECT_EQ(second.decision.delay, seconds{9});
  ASSERT_EQ(s.decide(third, later), answer::ready);
  EXPECT_EQ(third.decision.what, policy::outcome::deny);
  s.cancel(second, later + seconds{1});
  ASSERT_EQ(s.decide(third, later + seconds{1}), answer::ready);
  EXPECT_EQ(third.decision.what, policy::outcome::delay);
  EXPECT_EQ(third.decision.delay, seconds{8});
}

// Only responses that count as failures cost anything, and what they cost is refused later.
TEST(Service, FailuresAreChargedByTheResponse) {
  policy::policy_spec spec;
  spec.limits = {limit("login", 2, policy::store_failure::deny)};
  spec.limits[0].count_statuses = {401};
  auto memory = penstock::store::memory_store::create({}).value();
  class service s(*memory, policy::compile(spec).value());
  exchange_context x;
  x.request = {.method = "POST", .path = "/login", .host = "h"};
  for (int status : {200, 401, 200, 401}) {
    ASSERT_EQ(s.decide(x, noon), answer::ready);
    ASSERT_EQ(x.decision.what, policy::outcome::allow) << status;
    s.completed(x, status, noon);
  }
  ASSERT_EQ(s.decide(x, noon), answer::ready);
  EXPECT_EQ(x.decision.what, policy::outcome::deny);
}

// A limit that counts refusals may be full by the time the refusing one opens again: a client that
// waits as long as it was told, and sends nothing meanwhile, must pass.
TEST(Service, RetryAfterHoldsBesideALimitThatCountsRefusals) {
  policy::policy_spec spec;
  spec.limits = {limit("short", 1, policy::store_failure::deny),
                 limit("counting", 3, policy::store_failure::deny)};
  spec.limits[0].rate.quotas[0].period = seconds{2};
  spec.limits[1].rate.quotas[0].period = seconds{20};
  spec.limits[1].count_denied = true;
  auto memory = penstock::store::memory_store::create({}).value();
  class service s(*memory, policy::compile(spec).value());
  exchange_context x;
  x.request = {.method = "GET", .path = "/", .host = "h"};
  for (int i = 0; i < 3; ++i) ASSERT_EQ(s.decide(x, noon), answer::ready);
  EXPECT_EQ(x.decision.what, policy::outcome::deny);
  const auto at = x.decision.headers.find("Retry-After: ");
  ASSERT_NE(at, std::string::npos);
  const int wait = std::stoi(x.decision.headers.substr(at + 13));
  EXPECT_GT(wait, 2);
  ASSERT_EQ(s.decide(x, noon + seconds{wait}), answer::ready);
  EXPECT_EQ(x.decision.what, policy::outcome::allow);
}

policy::policy_spec login_that_bans() {
  policy::policy_spec spec;
  spec.limits = {limit("login", 2, policy::store_failure::deny)};
  spec.limits[0].key = {.alternatives = {{{.kind = policy::key_kind::address}}}, .text = "address"};
  spec.limits[0].rate.quotas[0].period = seconds{10};
  spec.limits[0].ban = policy::ban_spec{.after = 3, .within = hours{1}, .lasts = hours{2}};
  return spec;
}

// The third refusal bans; the ban outlives the limit's own window and ends when it says.
TEST(Service, BansAfterSoManyRefusalsForSoLong) {
  auto memory = penstock::store::memory_store::create({}).value();
  ban_table bans;
  class service s(*memory, policy::compile(login_that_bans()).value(), {.bans = &bans});
  exchange_context x;
  x.request = {
      .method = "GET", .path = "/", .host = "h", .peer = policy::address::v4({1, 2, 3, 4})};
  const auto passes = [&](instant at) {
    EXPECT_EQ(s.decide(x, at), answer::ready);
    return x.decision.what == policy::outcome::allow;
  };
  EXPECT_TRUE(passes(noon) && passes(noon));
  EXPECT_FALSE(passes(noon) || passes(noon));
  EXPECT_TRUE(passes(noon + seconds{10}) && passes(noon + seconds{10}))
      << "two refusals are not yet a ban";
  EXPECT_FALSE(passes(noon + seconds{10}));
  EXPECT_FALSE(passes(noon + seconds{60}));
  EXPECT_NE(x.decision.headers.find("Retry-After: 7150\r\n"), std::string::npos)
      << x.decision.headers;
  EXPECT_FALSE(passes(noon + seconds{10} + hours{2} - duration{1}));
  EXPECT_TRUE(passes(noon + seconds{10} + hours{2}));
  x.request.peer = policy::address::v4({1, 2, 3, 5});
  EXPECT_TRUE(passes(noon + seconds{60})) << "another key is not banned";
}

// What is counted must add up, and each kind of decision must move its own counter.
TEST(Service, CountsEveryDecisionOnce) {
  auto memory = penstock::store::memory_store::create({}).value();
  ban_table bans;
  telemetry::metrics metrics({1, 2});
  steady_wall_clock clock;
  auto& counts = metrics.add_loop();
  auto spec = login_that_bans();
  spec.limits.push_back(limit("quiet", 1, policy::store_failure::deny));
  spec.limits[1].mode = policy::limit_mode::shadow;
  class service s(*memory, policy::compile(spec).value(),
                  {.bans = &bans, .metrics = &metrics, .counts = &counts, .clock = &clock});
  exchange_context x;
  x.request = {
      .method = "GET", .path = "/", .host = "h", .peer = policy::address::v4({1, 2, 3, 4})};
  for (int i = 0; i < 10; ++i) ASSERT_EQ(s.decide(x, noon), answer::ready);
  const auto sum = metrics.sum();
  EXPECT_EQ(sum.of(telemetry::tally::requests_allowed), 2U);
  EXPECT_EQ(sum.of(telemetry::tally::requests_refused), 3U);
  EXPECT_EQ(sum.of(telemetry::tally::requests_banned), 5U) << "banned by the third refusal";
  ASSERT_EQ(sum.limits.size(), 2U);
  EXPECT_EQ(sum.limits[0].label.name, "login");
  EXPECT_EQ(sum.limits[0].admitted, 2U);
  EXPECT_EQ(sum.limits[0].refused, 3U);
  EXPECT_EQ(sum.limits[1].shadow_refused, 4U)
      << "of the five requests that reached the store, one fitted";
  EXPECT_EQ(metrics.refusals(20).size(), 8U);
  EXPECT_STREQ(metrics.refusals(1)[0].reason, "banned");
}

// An attack must cost a remote store at most one call per refused key and second, and stays a 429
// during an outage; a wait that is over is asked for again.
TEST(Service, RemembersARefusalForItsWaitOrASecond) {
  fixture f({limit("a", 3, policy::store_failure::allow)});
  refusal_memory memory({1, 2});
  class service s(f.store, f.policy, {.refusals = &memory});
  const auto refuse = [&](duration retry_after) {
    f.store.waiting->verdicts[0] = {.admitted = false, .limit = 3, .retry_after = retry_after};
    auto* b = std::exchange(f.store.waiting, nullptr);
    b->on_done(*b);
  };
  ASSERT_EQ(s.decide(f.x, noon), answer::pending);
  refuse(seconds{90});
  for (int ms : {0, 1, 500, 999}) {
    ASSERT_EQ(s.decide(f.x, noon + std::chrono::milliseconds{ms}), answer::ready) << ms;
    EXPECT_EQ(f.x.decision.what, policy::outcome::deny);
    EXPECT_NE(f.x.decision.headers.find("Retry-After: 90\r\n"), std::string::npos)
        << f.x.decision.headers;
  }
  ASSERT_EQ(s.decide(f.x, noon + seconds{1}), answer::pending) << "a second is over";
  refuse(std::chrono::milliseconds{200});
  ASSERT_EQ(s.decide(f.x, noon + std::chrono::milliseconds{1199}), answer::ready);
  ASSERT_EQ(s.decide(f.x, noon + std::chrono::milliseconds{1200}), answer::pending)
      << "the wait is over";
  f.store.answer(true);
  EXPECT_EQ(f.x.decision.what, policy::outcome::degraded_allow);
}

// Where refusals are counted, or what was taken can be given back, every request must be asked for.
TEST(Service, NeverRemembersWhereRefusalsCountOrPlacesReturn) {
  auto counted = limit("a", 3, policy::store_failure::allow);
  counted.count_denied = true;
  auto queue = limit("q", 1, policy::store_failure::allow);
  queue.rate.quotas = {
      {.kind = algorithm::leaky_bucket, .count = 1, .period = seconds{10}, .queue = 1}};
  auto failures = limit("f", 3, policy::store_failure::allow);
  failures.count_statuses = {401};
  auto beside = limit("b", 3, policy::store_failure::allow);
  for (const auto& limits : {std::vector{counted}, {queue}, {failures}, {beside, counted}}) {
    fixture f(limits);
    refusal_memory memory({1, 2});
    class service s(f.store, f.policy, {.refusals = &memory});
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(s.decide(f.x, noon), answer::pending) << limits[0].name;
      for (auto& v : f.store.waiting->verdicts) v = {.limit = 3, .retry_after = seconds{9}};
      auto* b = std::exchange(f.store.waiting, nullptr);
      b->on_done(*b);
      EXPECT_EQ(f.x.decision.what, policy::outcome::deny);
    }
  }
}

// A remembered refusal is of one key, one cost and one policy.
TEST(RefusalMemory, IsOfOneKeyOneCostAndOnePolicy) {
  const auto q =
      quotas::compile({.kind = algorithm::fixed_window, .count = 3, .period = hours{1}}).value();
  const counter a{"a", q, false}, b{"b", q, false};
  refusal_memory memory({1, 2});
  const verdict refused{.limit = 3, .retry_after = seconds{5}, .reset_after = seconds{6}};
  memory.remember({.what = &a, .key = "k", .cost = 2}, refused, noon);
  const instant later = noon + std::chrono::milliseconds{300};
  const verdict* got = memory.recall({.what = &a, .key = "k", .cost = 2}, later);
  ASSERT_NE(got, nullptr);
  EXPECT_EQ(got->retry_after, std::chrono::milliseconds{4700});
  EXPECT_EQ(got->reset_after, std::chrono::milliseconds{5700});
  EXPECT_EQ(memory.recall({.what = &a, .key = "k", .cost = 1}, later), nullptr);
  EXPECT_EQ(memory.recall({.what = &a, .key = "l", .cost = 2}, later), nullptr);
  EXPECT_EQ(memory.recall({.what = &b, .key = "k", .cost = 2}, later), nullptr);
  EXPECT_EQ(memory.recall({.what = &a, .key = "k", .cost = 2}, noon - duration{1}), nullptr)
      << "a clock that went back";
  memory.clear();
  EXPECT_EQ(memory.recall({.what = &a, .key = "k", .cost = 2}, later), nullptr);
}

}  // namespace
}  // namespace penstock::service
