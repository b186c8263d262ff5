#include <cstdlib>
#include <deque>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <penstock/quota.hpp>

#include "base/checked.hpp"
#include "differential.hpp"
#include "redis_server.hpp"
#include "script_store.hpp"
#include "store/plain_store.hpp"
#include "store_runner.hpp"

namespace penstock::redis_test {
namespace {

using penstock::store::batch;
using penstock::store::intent;

class Scripts : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (have_redis_server()) server_ = new redis_server;
  }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }
  void SetUp() override {
    PENSTOCK_NEEDS_REDIS();
    blocking_client(server_->socket_path()).call({"FLUSHALL"});
  }
  static redis_server* server_;
};

redis_server* Scripts::server_ = nullptr;

// One exact meaning on every store: random quotas of every algorithm, batches, refunds, clocks that
// go back. Any difference in any field of any verdict fails.
TEST_F(Scripts, GiveExactlyTheVerdictsOfThePlainStore) {
  const std::uint64_t start = seed();
  std::cout << "seed " << start << " (PENSTOCK_SEED)\n";
  const std::size_t steps_each = 200;
  const std::size_t worlds = scaled(100'000) / steps_each;
  script_store redis(server_->socket_path());
  for (std::size_t n = 0; n < worlds; ++n) {
    SCOPED_TRACE("world " + std::to_string(n));
    world w(start + n);
    penstock::store::plain_store plain;
    for (int i = 0; i < 4; ++i) {
      const auto kind = static_cast<algorithm>(between(w.random, 0, 4));
      w.counters.push_back(make_counter(std::to_string(n) + "." + std::to_string(i),
                                        random_quota(w.random, kind),
                                        between(w.random, 0, 4) == 0));
    }
    compare(w, redis, {}, plain, steps_each,
            [](world& of, const quotas::compiled& q) { return random_step(of.random, q); });
    if (HasFatalFailure()) return;
    if (n % 64 == 63) redis.client().call({"FLUSHALL"});
  }
}

// The log is one string that is read and written in parts once it is long: the same verdicts there,
// with refunds in its middle and clocks that go back.
TEST_F(Scripts, GiveExactlyTheVerdictsOfThePlainStoreOnLongLogs) {
  const std::uint64_t start = seed();
  std::cout << "seed " << start << " (PENSTOCK_SEED)\n";
  script_store redis(server_->socket_path());
  for (std::size_t n = 0; n < scaled(3); ++n) {
    SCOPED_TRACE("world " + std::to_string(n));
    world w(start + n);
    penstock::store::plain_store plain;
    for (const std::int64_t count : {150, 400, 1500}) {
      quota q{
          .kind = algorithm::sliding_window_log, .count = count, .period = duration{count * 700}};
      if (count == 400) q.burst = 30;
      w.counters.push_back(make_counter(std::to_string(n) + "." + std::to_string(count), q));
    }
    compare(w, redis, {}, plain, 4'000, [](world& of, const quotas::compiled& q) {
      const std::int64_t step = between(of.random, 0, 999);
      if (step == 0) return -between(of.random, 0, 2 * q.period);
      if (step == 1) return between(of.random, 0, 2 * q.period);
      return step < 700 ? between(of.random, 0, 600) : std::int64_t{0};
    });
    if (HasFatalFailure()) return;
  }
}

// Redis decides in doubles: division must round as our integers do, up to the last integer they
// hold.
TEST_F(Scripts, DivideExactlyUpToTwoToTheFiftyThird) {
  random_source random(seed());
  constexpr std::int64_t most = std::int64_t{1} << 53U;
  blocking_client client(server_->socket_path());
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int64_t> numbers;
    std::vector<std::string> words;
    for (int i = 0; i < 100; ++i) {
      const std::int64_t b = spread(random, 1, most);
      const std::int64_t k = between(random, -most / b, most / b);
      const std::int64_t a = std::clamp(k * b + between(random, -1, 1), -most, most);
      numbers.insert(numbers.end(), {a, b});
    }
    for (const std::int64_t x : numbers) words.push_back(std::to_string(x));
    std::vector<std::string_view> call{
        "EVAL",
        "local r = {} for i = 1, #ARGV, 2 do local a, b = ARGV[i] + 0, ARGV[i + 1] + 0 "
        "r[i], r[i + 1] = math.floor(a / b), math.ceil(a / b) end return r",
        "0"};
    call.insert(call.end(), words.begin(), words.end());
    const auto answer = client.call(call);
    for (std::size_t i = 0; i < numbers.size(); i += 2) {
      ASSERT_EQ(answer[i + 1].number, floor_div(numbers[i], numbers[i + 1]))
          << numbers[i] << "/" << numbers[i + 1];
      ASSERT_EQ(answer[i + 2].number, ceil_div(numbers[i], numbers[i + 1]))
          << numbers[i] << "/" << numbers[i + 1];
    }
  }
}

struct ttl_row {
  const char* name;
  quota q;
  std::int64_t cost;
  std::int64_t
      matters_ms;  // how long the state matters after one take at the start of a window, most
};

const std::vector<ttl_row> ttl_rows = {
    {"bucket",
     {.kind = algorithm::token_bucket, .count = 10, .period = std::chrono::seconds{100}},
     3,
     30'000},
    {"bucket in seconds",
     {.kind = algorithm::token_bucket, .count = 1'000'000'007, .period = std::chrono::days{30}},
     1'000'000'007,
     2'592'000'000},
    {"fixed",
     {.kind = algorithm::fixed_window, .count = 10, .period = std::chrono::hours{24}},
     1,
     86'400'000},
    {"fixed with a burst",
     {.kind = algorithm::fixed_window,
      .count = 1,
      .period = std::chrono::hours{24},
      .burst = 5,
      .burst_window = std::chrono::hours{48}},
     3,
     172'800'000},
    {"log",
     {.kind = algorithm::sliding_window_log, .count = 10, .period = std::chrono::seconds{60}},
     1,
     60'000},
    {"counter",
     {.kind = algorithm::sliding_window_counter, .count = 10, .period = std::chrono::seconds{60}},
     1,
     120'000},
    {"queue",
     {.kind = algorithm::leaky_bucket, .count = 1, .period = std::chrono::seconds{10}, .queue = 5},
     2,
     20'000},
};

std::int64_t ttl_ms(script_store& redis, const counter& c) {
  return redis.client().call({"PTTL", script_store::name_of(c, "k")}).front().number;
}

verdict take_one(script_store& redis, const counter& c, std::int64_t cost = 1) {
  const charge one{.what = &c, .key = "k", .cost = cost};
  verdict v;
  batch b{.charges = {&one, 1}, .verdicts = {&v, 1}};
  redis.check(b, instant{});
  return v;
}

// A key without an end blocks a client for ever; one that ends early hands out a second budget.
TEST_F(Scripts, SetATtlThatLastsAsLongAsTheStateMatters) {
  script_store redis(server_->socket_path());
  redis.own_clock = true;
  for (const ttl_row& row : ttl_rows) {
    const counter c = make_counter(row.name, row.q);
    const verdict v = take_one(redis, c, row.cost);
    ASSERT_TRUE(v.admitted) << row.name;
    const std::int64_t ttl = ttl_ms(redis, c);
    // PTTL is read a moment after the script has set it.
    EXPECT_GE(ttl + 2'000, v.reset_after.count() / 1'000) << row.name;
    EXPECT_LE(ttl, row.matters_ms + 2'000) << row.name;
    EXPECT_GT(ttl, 0) << row.name;
  }
}

// Peeks and refusals are not use: they neither make a key nor keep one alive.
TEST_F(Scripts, LeaveKeyAndTtlAloneWhenNothingIsTaken) {
  script_store redis(server_->socket_path());
  redis.own_clock = true;
  for (const ttl_row& row : ttl_rows) {
    const counter c = make_counter(row.name, row.q);
    const charge one{.what = &c, .key = "k", .cost = 1};
    verdict v;
    batch peek{.charges = {&one, 1}, .verdicts = {&v, 1}, .why = intent::peek};
    redis.check(peek, instant{});
    EXPECT_TRUE(v.admitted) << row.name;
    EXPECT_TRUE(take_one(redis, c, 0).admitted) << row.name;
    EXPECT_TRUE(take_one(redis, c, std::int64_t{1} << 53U).never) << row.name;
    EXPECT_EQ(ttl_ms(redis, c), -2) << row.name;
  }
}

// What stands under our name but is not ours must neither stop the limit nor stay for ever.
TEST_F(Scripts, WriteOverForeignValues) {
  script_store redis(server_->socket_path());
  redis.own_clock = true;
  const std::string long_text(5'000, 'l');
  for (const ttl_row& row : ttl_rows) {
    const counter c = make_counter(row.name, row.q);
    const std::string name = script_store::name_of(c, "k");
    const std::vector<std::vector<std::string_view>> foreign = {
        {"SET", name, "999"}, {"SET", name, ""},        {"SET", name, long_text},
        {"RPUSH", name, "x"}, {"HSET", name, "a", "b"}, {"ZADD", name, "1", "m"}};
    for (const auto& plant : foreign) {
      redis.client().call({"DEL", name});
      redis.client().call(plant);
      ASSERT_TRUE(take_one(redis, c).admitted) << row.name << " " << plant[0];
      EXPECT_GT(ttl_ms(redis, c), 0) << row.name << " " << plant[0];
      EXPECT_EQ(redis.client().text({"TYPE", name}), "string") << row.name << " " << plant[0];
      EXPECT_TRUE(take_one(redis, c, 0).reset_after > duration{}) << row.name << " " << plant[0];
    }
  }
}

// A value of ours that somebody made permanent gets its end back, also by a refused request.
TEST_F(Scripts, GiveAPermanentValueItsEndBack) {
  script_store redis(server_->socket_path());
  redis.own_clock = true;
  for (const ttl_row& row : ttl_rows) {
    const counter c = make_counter(row.name, row.q);
    const std::string name = script_store::name_of(c, "k");
    ASSERT_TRUE(take_one(redis, c, row.cost).admitted) << row.name;
    redis.client().call({"PERSIST", name});
    ASSERT_EQ(ttl_ms(redis, c), -1) << row.name;
    EXPECT_TRUE(take_one(redis, c, std::int64_t{1} << 53U).never) << row.name;
    EXPECT_GT(ttl_ms(redis, c), 0) << row.name;
  }
}

// With no memory left Redis refuses writes: the check must fail whole, not half.
TEST_F(Scripts, ChangeNothingWhenRedisIsOutOfMemory) {
  script_store redis(server_->socket_path());
  redis.own_clock = true;
  const counter a = make_counter("oom.a", ttl_rows[0].q);
  const counter b = make_counter("oom.b", ttl_rows[2].q);
  const charge both[] = {{.what = &a, .key = "k", .cost = 1}, {.what = &b, .key = "k", .cost = 1}};
  verdict v[2];
  batch two{.charges = both, .verdicts = v};
  redis.client().call({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_THROW(redis.check(two, instant{}), std::runtime_error);
  redis.client().call({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(redis.client().text({"DBSIZE"}), "0");
}

}  // namespace
}  // namespace penstock::redis_test
