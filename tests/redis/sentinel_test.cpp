// A master, a replica and three Sentinels. Faults are named F… as in
// docs/decisions/0006-redis-store.md.
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "blocking_client.hpp"
#include "load.hpp"
#include "redis_server.hpp"
#include "store/conformance.hpp"
#include "store_runner.hpp"

namespace penstock::redis_test {
namespace {

using namespace std::chrono_literals;

bool wait_for(const std::function<bool()>& done) {
  for (int i = 0; i < 2'000; ++i) {
    if (done()) return true;
    ::usleep(10'000);
  }
  return false;
}

class Sentinel : public ::testing::Test {
 protected:
  static constexpr const char* password = "d4ta-s3cret";
  static constexpr const char* sentinel_password = "s3ntinel";

  void SetUp() override {
    PENSTOCK_NEEDS_REDIS();
    const std::vector<std::string> secured{
        "--requirepass", password, "--masterauth", password, "--repl-diskless-sync-delay", "0"};
    master_ = std::make_unique<redis_server>(secured, free_port());
    auto follower = secured;
    follower.insert(follower.end(),
                    {"--replicaof", "127.0.0.1 " + std::to_string(master_->port())});
    replica_ = std::make_unique<redis_server>(follower, free_port());
    ASSERT_TRUE(wait_for([&] {
      blocking_client c(replica_->socket_path());
      c.call({"AUTH", password});
      return std::string(c.call({"INFO", "replication"}).front().text)
                 .find("master_link_status:up") != std::string::npos;
    }));
    const std::string conf = "sentinel monitor main 127.0.0.1 " + std::to_string(master_->port()) +
                             " 2\nsentinel auth-pass main " + password +
                             "\nsentinel down-after-milliseconds main 1000\n"
                             "sentinel failover-timeout main 3000\nrequirepass " +
                             sentinel_password + "\nsentinel sentinel-pass " + sentinel_password +
                             "\n";
    for (auto& s : sentinels_)
      s = std::make_unique<redis_server>(std::vector<std::string>{}, free_port(), conf);
    ASSERT_TRUE(wait_for([&] {
      for (auto& s : sentinels_) {
        blocking_client c(s->socket_path());
        c.call({"AUTH", sentinel_password});
        const std::string info(c.call({"INFO", "sentinel"}).front().text);
        if (info.find("slaves=1,sentinels=3") == std::string::npos) return false;
      }
      return true;
    }));
  }

  [[nodiscard]] std::string url() const {
    std::string hosts = "127.0.0.1:" + std::to_string(free_port());  // one that is not there
    for (const auto& s : sentinels_) hosts += ",127.0.0.1:" + std::to_string(s->port());
    return "redis+sentinel://:" + std::string(password) + "@" + hosts +
           "/main?sentinel_password=" + sentinel_password;
  }

  std::unique_ptr<redis_server> master_;
  std::unique_ptr<redis_server> replica_;
  std::unique_ptr<redis_server> sentinels_[3];
};

// The same rows on the instance that Sentinels name; the password of one is not that of the other.
TEST_F(Sentinel, ConformsRowByRow) {
  store_runner r(url(), 2s, true);
  ASSERT_TRUE(r.run_until([&] { return r.store().serving(); })) << r.events().back();
  namespace conformance = penstock::store::conformance;
  for (const conformance::scenario& s : conformance::scenarios()) {
    const auto differences = conformance::play(
        s, {.under_test = r.store(), .finish = [&](penstock::store::batch& b) { r.wait(b); }},
        instant{std::chrono::seconds{1'800'000'000}}, s.name + ".");
    for (const std::string& line : differences) ADD_FAILURE() << s.name << ": " << line;
  }
}

// F10: the master dies; the one that the Sentinels choose takes over without a restart of ours.
TEST_F(Sentinel, F10FollowsAFailover) {
  store_runner r(url());
  ASSERT_TRUE(r.run_until([&] { return r.store().serving(); }));
  load l(r, 16);
  l.run_for(200ms);
  EXPECT_EQ(l.take_seen().failed, 0U);
  master_->stop();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(r.run_until([&] { return !r.store().serving(); }));
  EXPECT_TRUE(r.run_until([&] { return r.store().serving(); }, 20s));
  const auto away = std::chrono::steady_clock::now() - begin;
  std::cout << "failover took "
            << std::chrono::duration_cast<std::chrono::milliseconds>(away).count()
            << " ms with down-after 1000 ms\n";
  l.take_seen();
  l.run_for(300ms);
  const auto after = l.take_seen();
  EXPECT_GT(after.answered, 50U);
  EXPECT_EQ(after.failed, 0U);
  EXPECT_EQ(after.foreign, 0U);
  // The old master comes back and is made a replica: nobody must notice.
  master_->start();
  l.run_for(500ms);
  EXPECT_TRUE(r.run_until([&] { return r.store().serving(); }));
  EXPECT_GE(r.events().size(), 3U);
}

// F9 and F10: a failover that is asked for leaves the old master running and its connections open.
TEST_F(Sentinel, F9LeavesADemotedMaster) {
  store_runner r(url());
  ASSERT_TRUE(r.run_until([&] { return r.store().serving(); }));
  load l(r, 8);
  l.run_for(100ms);
  blocking_client c(sentinels_[0]->socket_path());
  c.call({"AUTH", sentinel_password});
  EXPECT_EQ(c.text({"SENTINEL", "FAILOVER", "main"}), "OK");
  l.run_for(4s);
  l.take_seen();
  EXPECT_TRUE(r.run_until([&] { return r.store().serving(); }));
  l.run_for(200ms);
  const auto after = l.take_seen();
  EXPECT_EQ(after.failed, 0U);
  EXPECT_GT(after.answered, 50U);
  blocking_client now_master(replica_->socket_path());
  now_master.call({"AUTH", password});
  EXPECT_EQ(now_master.call({"ROLE"})[1].text, "master");
}

// F11: without Sentinels the last known master is used, also for a new connection.
TEST_F(Sentinel, F11NeedsNoSentinelForWhatItKnows) {
  store_runner r(url());
  ASSERT_TRUE(r.run_until([&] { return r.store().serving(); }));
  for (auto& s : sentinels_) s->stop();
  load l(r, 8);
  l.run_for(200ms);
  blocking_client c(master_->socket_path());
  c.call({"AUTH", password});
  c.call({"CLIENT", "KILL", "TYPE", "normal"});
  l.run_for(500ms);
  EXPECT_TRUE(r.run_until([&] { return r.store().serving(); }, 3s));
  l.take_seen();
  l.run_for(100ms);
  EXPECT_EQ(l.take_seen().failed, 0U);
}

// Secrets of both kinds stay out of what operators read.
TEST_F(Sentinel, TellsNoSecret) {
  for (auto& s : sentinels_) s->stop();
  store_runner r(url(), 200ms);
  r.run_for(500ms);
  ASSERT_FALSE(r.events().empty());
  for (const std::string& e : r.events()) {
    EXPECT_EQ(e.find(password), std::string::npos) << e;
    EXPECT_EQ(e.find(sentinel_password), std::string::npos) << e;
  }
}

}  // namespace
}  // namespace penstock::redis_test
