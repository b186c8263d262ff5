#include "store/redis/reply_error.hpp"

#include <gtest/gtest.h>

namespace penstock::store::redis {
namespace {

struct row {
  const char* text;
  error_kind want;
};

// The texts as Redis 6.2 and 7.0 send them: a wrong reading charges twice or shuts out for ever.
TEST(ReplyError, MapsEachErrorToItsAction) {
  const row rows[] = {
      {"NOSCRIPT No matching script. Please use EVAL.", error_kind::no_script},
      {"MOVED 3999 127.0.0.1:6381", error_kind::moved},
      {"ASK 3999 127.0.0.1:6381", error_kind::ask},
      {"TRYAGAIN Multiple keys request during rehashing of slot", error_kind::try_again},
      {"READONLY You can't write against a read only replica. script: 5e, on @user_script:1.",
       error_kind::not_master},
      {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
       error_kind::not_master},
      {"LOADING Redis is loading the dataset in memory", error_kind::busy},
      {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
       error_kind::busy},
      {"CLUSTERDOWN Hash slot not served", error_kind::busy},
      {"NOREPLICAS Not enough good replicas to write.", error_kind::busy},
      {"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to "
       "disk.",
       error_kind::busy},
      {"OOM command not allowed when used memory > 'maxmemory'.", error_kind::busy},
      {"ERR max number of clients reached", error_kind::busy},
      {"NOAUTH Authentication required.", error_kind::refused},
      {"WRONGPASS invalid username-password pair or user is disabled.", error_kind::refused},
      {"NOPERM this user has no permissions to run the 'evalsha' command", error_kind::refused},
      {"ERR invalid password", error_kind::refused},
      {"CROSSSLOT Keys in request don't hash to the same slot", error_kind::other},
      {"EXECABORT Transaction discarded because of previous errors.", error_kind::other},
      {"UNBLOCKED force unblock from blocking operation", error_kind::other},
      {"ERR Error running script (call to f_5e): @user_script: 8: -READONLY You can't write",
       error_kind::not_master},
      {"ERR Error running script (call to f_5e): @user_script: 8: -OOM command not allowed",
       error_kind::busy},
      {"ERR user_script:9: attempt to index a nil value", error_kind::other},
      {"ERR the key READONLY was asked", error_kind::other},
      {"", error_kind::other},
  };
  for (const row& r : rows) EXPECT_EQ(classify_error(r.text), r.want) << r.text;
}

// Addresses of a cluster come as IPv4, IPv6, names, or empty for "where you asked".
TEST(ReplyError, ReadsRedirections) {
  const auto v4 = parse_redirection("MOVED 3999 127.0.0.1:6381");
  EXPECT_EQ(v4.slot, 3999);
  EXPECT_EQ(v4.host, "127.0.0.1");
  EXPECT_EQ(v4.port, 6381);
  EXPECT_EQ(parse_redirection("ASK 1 fd00::1:7000").host, "fd00::1");
  EXPECT_EQ(parse_redirection("ASK 1 [fd00::1]:7000").host, "fd00::1");
  const auto same = parse_redirection("MOVED 0 :7001");
  EXPECT_EQ(same.slot, 0);
  EXPECT_EQ(same.host, "");
  EXPECT_EQ(same.port, 7001);
  for (const char* bad :
       {"MOVED", "MOVED x a:1", "MOVED 16384 a:1", "MOVED 1 a", "MOVED 1 a:0", "MOVED 1 a:x"}) {
    EXPECT_EQ(parse_redirection(bad).slot, -1) << bad;
  }
}

}  // namespace
}  // namespace penstock::store::redis
