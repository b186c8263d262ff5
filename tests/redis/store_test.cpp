// The store on one real instance: the contract, the ways to reach it, and what it does when the
// instance fails. Faults are named F… as in docs/decisions/0006-redis-store.md.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "blocking_client.hpp"
#include "load.hpp"
#include "redis_server.hpp"
#include "store/conformance.hpp"
#include "store_runner.hpp"

namespace penstock::redis_test {
namespace {

using namespace std::chrono_literals;

const counter& ten_per_hour() {
  static const counter c =
      make_counter("ten", {.kind = algorithm::fixed_window, .count = 10, .period = 1h * 24});
  return c;
}

const counter& many() {
  static const counter c =
      make_counter("many", {.kind = algorithm::token_bucket, .count = 1'000'000, .period = 1h});
  return c;
}

std::string unix_url(const redis_server& s) {
  return "unix://" + s.socket_path();
}
std::string tcp_url(const redis_server& s) {
  return "redis://127.0.0.1:" + std::to_string(s.port());
}

bool serves(store_runner& r) {
  return r.run_until([&] { return r.store().serving(); });
}

class RedisStore : public ::testing::Test {
 protected:
  void SetUp() override { PENSTOCK_NEEDS_REDIS(); }
};

// The rows of the conformance table through the product's own client.
TEST_F(RedisStore, ConformsRowByRow) {
  redis_server server;
  store_runner r(unix_url(server), 2s, true);
  ASSERT_TRUE(serves(r));
  namespace conformance = penstock::store::conformance;
  for (const conformance::scenario& s : conformance::scenarios()) {
    const auto differences = conformance::play(
        s, {.under_test = r.store(), .finish = [&](penstock::store::batch& b) { r.wait(b); }},
        instant{std::chrono::seconds{1'800'000'000}}, s.name + ".");
    for (const std::string& line : differences) ADD_FAILURE() << s.name << ": " << line;
  }
}

// The clock that decides is Redis': two processes with clocks apart share one budget.
TEST_F(RedisStore, DecidesAtTheTimeOfRedis) {
  redis_server server;
  store_runner r(unix_url(server));
  ASSERT_TRUE(serves(r));
  const charge one{.what = &ten_per_hour(), .key = "k"};
  verdict v;
  penstock::store::batch b{.charges = {&one, 1}, .verdicts = {&v, 1}};
  if (r.store().check(b, instant{duration{5}}) == penstock::store::progress::pending) r.wait(b);
  EXPECT_FALSE(b.failed);
  EXPECT_TRUE(v.admitted);
  const auto wall = std::chrono::system_clock::now();
  EXPECT_LT(std::chrono::abs(b.decided_at - wall), 10s);
}

// One batch of several limits is one call, and none is charged when one refuses.
TEST_F(RedisStore, TakesAllChargesOrNone) {
  redis_server server;
  store_runner r(unix_url(server));
  ASSERT_TRUE(serves(r));
  const counter small =
      make_counter("small", {.kind = algorithm::fixed_window, .count = 1, .period = 24h});
  const charge both[] = {{.what = &many(), .key = "a"}, {.what = &small, .key = "b"}};
  for (const bool admitted : {true, false, false}) {
    verdict v[2];
    penstock::store::batch b{.charges = both, .verdicts = v};
    if (r.store().check(b, {}) == penstock::store::progress::pending) r.wait(b);
    ASSERT_FALSE(b.failed);
    EXPECT_EQ(v[1].admitted, admitted);
  }
  EXPECT_EQ(r.store().counts().calls, 3U);
  EXPECT_EQ(r.take(ten_per_hour(), "a").result.remaining, 9);
}

// A refund and a reset reach Redis although nobody waits for them.
TEST_F(RedisStore, RefundsAndResets) {
  redis_server server;
  store_runner r(unix_url(server));
  ASSERT_TRUE(serves(r));
  const charge one{.what = &ten_per_hour(), .key = "k", .cost = 4};
  verdict v;
  penstock::store::batch b{.charges = {&one, 1}, .verdicts = {&v, 1}};
  if (r.store().check(b, {}) == penstock::store::progress::pending) r.wait(b);
  EXPECT_EQ(v.remaining, 6);
  r.store().refund({&one, 1}, b.decided_at, {});
  EXPECT_EQ(r.take(ten_per_hour(), "k", 0).result.remaining, 10);
  r.store().record({&one, 1}, {});
  EXPECT_EQ(r.take(ten_per_hour(), "k", 0).result.remaining, 6);
  r.store().reset(ten_per_hour(), "k");
  EXPECT_EQ(r.take(ten_per_hour(), "k", 0).result.remaining, 10);
}

// A client that leaves takes its batch along; the answer must not be written into it.
TEST_F(RedisStore, ForgetsAnAbandonedBatch) {
  redis_server server;
  store_runner r(unix_url(server));
  ASSERT_TRUE(serves(r));
  for (int i = 0; i < 100; ++i) {
    const charge one{.what = &ten_per_hour(), .key = "k"};
    auto v = std::make_unique<verdict>();
    auto b = std::make_unique<penstock::store::batch>();
    b->charges = {&one, 1};
    b->verdicts = {v.get(), 1};
    b->on_done = [](penstock::store::batch&) { ADD_FAILURE() << "called for an abandoned batch"; };
    ASSERT_EQ(r.store().check(*b, {}), penstock::store::progress::pending);
    r.store().abandon(*b);
  }
  EXPECT_EQ(r.take(ten_per_hour(), "k", 0).result.remaining, 0);
}

// Every way that a URL can name an instance.
TEST_F(RedisStore, ReachesRedisInEachWay) {
  redis_server server({"--requirepass", "s3cret"}, free_port());
  blocking_client admin(server.socket_path());
  admin.call({"AUTH", "s3cret"});
  admin.call({"ACL", "SETUSER", "limiter", "reset", "on", ">p4ss", "~penstock:*", "+evalsha",
              "+eval", "+time", "+get", "+psetex", "+pttl", "+pexpire", "+getrange", "+setrange",
              "+strlen", "+del", "+select"});
  const std::string port = std::to_string(server.port());
  const std::string urls[] = {
      "redis://:s3cret@127.0.0.1:" + port,
      "redis://:s3cret@localhost:" + port,
      "redis://limiter:p4ss@127.0.0.1:" + port + "/3",
      "unix://:s3cret@" + server.socket_path() + "?db=5",
  };
  for (const std::string& url : urls) {
    store_runner r(url);
    ASSERT_TRUE(serves(r)) << (r.events().empty() ? "" : r.events().back());
    for (const algorithm kind :
         {algorithm::token_bucket, algorithm::fixed_window, algorithm::sliding_window_log,
          algorithm::sliding_window_counter, algorithm::leaky_bucket}) {
      const counter c = make_counter(std::string(to_string(kind)),
                                     {.kind = kind,
                                      .count = 5,
                                      .period = 24h,
                                      .queue = kind == algorithm::leaky_bucket ? 4 : 0});
      const auto a = r.take(c, url.substr(url.size() - 1));
      EXPECT_FALSE(a.failed) << url;
      EXPECT_TRUE(a.result.admitted) << url;
    }
  }
  EXPECT_EQ(admin.text({"SELECT", "3"}), "OK");
  EXPECT_EQ(admin.text({"DBSIZE"}), "5");
}

// A process that has just started must not fail open: the first requests wait for the connection.
TEST_F(RedisStore, TheFirstRequestWaitsForTheFirstConnection) {
  redis_server server;
  store_runner r(unix_url(server));
  EXPECT_FALSE(r.store().serving());
  EXPECT_TRUE(r.events().empty()) << "nothing is known yet";
  const auto a = r.take(ten_per_hour());
  EXPECT_FALSE(a.failed || a.at_once);
  EXPECT_EQ(a.result.remaining, 9);
  EXPECT_EQ(r.events(), std::vector<std::string>{"serving " + server.socket_path() + " "});
}

// F1: nothing listens at the start. The policy answers from the first request, and Redis is used
// soon after it appears.
TEST_F(RedisStore, F1StartsWithoutRedisAndFindsItLater) {
  const int port = free_port();
  store_runner r("redis://127.0.0.1:" + std::to_string(port), 200ms);
  EXPECT_TRUE(r.take(many()).failed);
  r.run_for(300ms);
  EXPECT_FALSE(r.store().serving());
  const auto a = r.take(many());
  EXPECT_TRUE(a.failed && a.at_once);
  ASSERT_EQ(r.events().size(), 1U);
  EXPECT_TRUE(r.events()[0].starts_with("not serving 127.0.0.1:")) << r.events()[0];
  redis_server server({}, port);
  EXPECT_TRUE(r.run_until([&] { return r.store().serving(); }, 2s));
  EXPECT_FALSE(r.take(many()).failed);
  EXPECT_EQ(r.events().size(), 2U);
}

// F2: killed under load and started again, empty: everything is answered, then served again.
TEST_F(RedisStore, F2SurvivesAKill) {
  redis_server server({}, free_port());
  store_runner r(tcp_url(server));
  ASSERT_TRUE(serves(r));
  load l(r, 32);
  l.run_for(1s);
  auto before = l.take_seen();
  EXPECT_GT(before.answered, 100U);
  EXPECT_EQ(before.failed, 0U);
  server.stop();
  l.run_for(500ms);
  const auto during = l.take_seen();
  EXPECT_GT(during.failed_at_once, 0U);
  EXPECT_LT(during.slowest, 1s);
  server.start();
  EXPECT_TRUE(r.run_until([&] { return r.store().serving(); }, 2s));
  l.run_for(1s);
  const auto after = l.take_seen();
  EXPECT_GT(after.answered, 100U);
  EXPECT_EQ(before.foreign + during.foreign + after.foreign, 0U);
  EXPECT_EQ(r.store().counts().losses_of_data, 1U);
  ASSERT_EQ(r.events().size(), 4U) << "one line per change of state, one for the loss";
}

// F3: a process that stops answers nothing and closes nothing.
TEST_F(RedisStore, F3SurvivesAStop) {
  redis_server server({}, free_port());
  store_runner r(tcp_url(server), 50ms);
  ASSERT_TRUE(serves(r));
  load l(r, 64);
  l.run_for(200ms);
  server.pause();
  l.run_for(1500ms);
  const auto during = l.take_seen();
  EXPECT_FALSE(r.store().serving());
  EXPECT_GT(during.failed_at_once, during.failed / 2);
  EXPECT_LT(during.slowest, 1s);
  server.resume();
  EXPECT_TRUE(r.run_until([&] { return r.store().serving(); }, 2s));
  l.run_until_answered(20'000);
  const auto after = l.take_seen();
  EXPECT_EQ(during.foreign + after.foreign, 0U);
  EXPECT_GE(after.answered, 20'000U);
}

// F3 and F4: answers that come after the deadline belong to nobody, not to the next request.
TEST_F(RedisStore, F4DropsLateAnswers) {
  redis_server server;
  store_runner r(unix_url(server), 30ms);
  ASSERT_TRUE(serves(r));
  load l(r, 16);
  for (int i = 0; i < 10; ++i) {
    l.run_for(30ms);
    server.pause();
    l.run_for(60ms);
    server.resume();
    l.run_for(60ms);
  }
  EXPECT_TRUE(r.run_until([&] { return r.store().serving(); }, 2s));
  l.run_for(100ms);
  const auto seen = l.take_seen();
  EXPECT_GT(r.store().counts().timeouts, 0U);
  EXPECT_GT(seen.answered, 100U);
  EXPECT_EQ(seen.foreign, 0U);
}

// F8: the scripts are gone; each request that meets that is answered all the same.
TEST_F(RedisStore, F8LoadsScriptsAgain) {
  redis_server server;
  store_runner r(unix_url(server));
  ASSERT_TRUE(serves(r));
  blocking_client admin(server.socket_path());
  load l(r, 16);
  for (int i = 0; i < 10; ++i) {
    l.run_for(20ms);
    admin.call({"SCRIPT", "FLUSH"});
  }
  l.run_for(50ms);
  const auto seen = l.take_seen();
  EXPECT_EQ(seen.failed, 0U);
  EXPECT_EQ(seen.foreign, 0U);
  EXPECT_GE(r.store().counts().resent_scripts, 2U);
  EXPECT_LE(r.store().counts().resent_scripts, 16U * 12U) << "once per flush and request in flight";
  EXPECT_EQ(r.events().size(), 1U) << "not a failure";
  const std::int64_t before = r.take(ten_per_hour(), "rises").result.remaining;
  admin.call({"SCRIPT", "FLUSH"});
  EXPECT_EQ(r.take(ten_per_hour(), "rises").result.remaining, before - 1) << "the same script ran";

  // A restart also loses what was counted: said once, and what is counted then begins anew.
  server.stop();
  server.start();
  ASSERT_TRUE(r.run_until([&] { return r.events().size() > 1 && r.store().serving(); }));
  ASSERT_FALSE(r.take(ten_per_hour(), "rises").failed);
  EXPECT_EQ(r.store().counts().losses_of_data, 1U);
  const auto told = std::count_if(r.events().begin(), r.events().end(), [](const std::string& e) {
    return e.find("what was counted may be lost") != std::string::npos;
  });
  EXPECT_EQ(told, 1);
}

// Connections that are killed are made again; only what was under way on them is lost.
TEST_F(RedisStore, ReconnectsAtOnceAfterALostConnection) {
  redis_server server;
  store_runner r(unix_url(server));
  ASSERT_TRUE(serves(r));
  blocking_client admin(server.socket_path());
  load l(r, 8);
  for (int i = 0; i < 3; ++i) {
    // One that is lost soon after it was made is another matter: that server is not well.
    l.run_until_answered(1);
    l.run_for(1s);
    admin.call({"CLIENT", "KILL", "TYPE", "normal"});
  }
  l.run_until_answered(200);
  const auto seen = l.take_seen();
  EXPECT_LE(seen.failed, 3U * 8U);
  EXPECT_EQ(seen.failed_at_once, 0U);
  EXPECT_EQ(seen.foreign, 0U);
  EXPECT_EQ(r.events().size(), 1U) << "no change of state";
}

// F9: the instance becomes a replica while the connection stays open.
TEST_F(RedisStore, F9StopsUsingAReplicaAndComesBack) {
  redis_server server;
  store_runner r(unix_url(server));
  ASSERT_TRUE(serves(r));
  blocking_client admin(server.socket_path());
  EXPECT_FALSE(r.take(many()).failed);
  admin.call({"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_TRUE(r.take(many()).failed);
  EXPECT_TRUE(r.run_until([&] { return !r.store().serving(); }, 2s));
  admin.call({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(r.run_until([&] { return r.store().serving(); }, 2s));
  EXPECT_FALSE(r.take(many()).failed);
}

// F15: out of memory is a failure of the store, and it ends when memory is there again.
TEST_F(RedisStore, F15TreatsOutOfMemoryAsFailure) {
  redis_server server;
  store_runner r(unix_url(server));
  ASSERT_TRUE(serves(r));
  blocking_client admin(server.socket_path());
  admin.call({"CONFIG", "SET", "maxmemory", "1"});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(r.take(many()).failed);
  EXPECT_FALSE(r.store().serving());
  r.run_for(1s);
  EXPECT_FALSE(r.store().serving()) << "a probe must fail where a check would";
  admin.call({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_TRUE(r.run_until([&] { return r.store().serving(); }, 2s));
  EXPECT_EQ(r.events().size(), 3U);
}

// F15: an eviction policy that may drop live counters is said once.
TEST_F(RedisStore, F15RemarksOnAnEvictionPolicyThatDropsCounters) {
  redis_server server({"--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"});
  store_runner r(unix_url(server));
  ASSERT_TRUE(serves(r));
  ASSERT_FALSE(r.events().empty());
  EXPECT_TRUE(r.events()[0].starts_with("remark ")) << r.events()[0];
}

// F16: a wrong password must not be tried in a tight loop, and must not be told.
TEST_F(RedisStore, F16TellsARefusedLoginOnceAndWithoutTheSecret) {
  redis_server server({"--requirepass", "right"});
  store_runner r("unix://user1:wr0ng-s3cret@" + server.socket_path(), 200ms);
  r.run_for(1500ms);
  EXPECT_TRUE(r.take(many()).at_once);
  ASSERT_EQ(r.events().size(), 1U);
  EXPECT_NE(r.events()[0].find("WRONGPASS"), std::string::npos) << r.events()[0];
  for (const char* secret : {"wr0ng", "s3cret", "user1"}) {
    EXPECT_EQ(r.events()[0].find(secret), std::string::npos) << r.events()[0];
  }
  blocking_client admin(server.socket_path());
  admin.call({"AUTH", "right"});
  const std::string info(admin.call({"INFO", "stats"}).front().text);
  const auto at = info.find("total_connections_received:");
  EXPECT_LE(std::stoi(info.substr(at + 27)), 9) << "reconnects too often";
  admin.call({"ACL", "SETUSER", "user1", "on", ">wr0ng-s3cret", "~*", "+@all"});
  EXPECT_TRUE(r.run_until([&] { return r.store().serving(); }, 2s)) << "the login was put right";
}

// F17: a script that runs for ever blocks Redis for all.
TEST_F(RedisStore, F17SurvivesABusyScript) {
  redis_server server({"--busy-reply-threshold", "100"});
  store_runner r(unix_url(server));
  ASSERT_TRUE(serves(r));
  redis_server& s = server;
  const int pid = ::fork();
  if (pid == 0) {
    try {
      blocking_client(s.socket_path()).call({"EVAL", "while true do end", "0"});
    } catch (const std::exception&) {
    }
    ::_exit(0);
  }
  r.run_for(300ms);
  for (int i = 0; i < 8; ++i) (void)r.take(many());
  EXPECT_FALSE(r.store().serving());
  EXPECT_EQ(blocking_client(s.socket_path()).text({"SCRIPT", "KILL"}), "OK");
  EXPECT_TRUE(r.run_until([&] { return r.store().serving(); }, 2s));
  ::waitpid(pid, nullptr, 0);
}

// F17: no room for another client.
TEST_F(RedisStore, F17WaitsForRoom) {
  redis_server server({"--maxclients", "2"});
  blocking_client one(server.socket_path());
  EXPECT_EQ(one.text({"PING"}), "PONG");
  auto two = std::make_unique<blocking_client>(server.socket_path());
  EXPECT_EQ(two->text({"PING"}), "PONG");
  store_runner r(unix_url(server), 200ms);
  r.run_for(500ms);
  EXPECT_FALSE(r.store().serving());
  two.reset();
  EXPECT_TRUE(r.run_until([&] { return r.store().serving(); }, 2s));
}

}  // namespace
}  // namespace penstock::redis_test
