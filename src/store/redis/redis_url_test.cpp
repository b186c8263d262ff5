#include "store/redis/redis_url.hpp"

#include <string>

#include <gtest/gtest.h>

namespace penstock::store::redis {
namespace {

struct good_row {
  const char* text;
  const char* described;
  const char* user;
  const char* password;
};

// Every form that the documentation names, and that none shows its secret.
TEST(RedisUrl, ReadsEachForm) {
  const good_row rows[] = {
      {"redis://127.0.0.1", "redis://127.0.0.1:6379", "", ""},
      {"redis://redis.internal:6380/3", "redis://redis.internal:6380/3", "", ""},
      {"redis://:s%40crt@h", "redis://h:6379", "", "s@crt"},
      {"redis://al:s3cret@h:1", "redis://h:1", "al", "s3cret"},
      {"redis://al:a@b:c@h", "redis://h:6379", "al", "a@b:c"},
      {"redis://[::1]:6379/1", "redis://[::1]:6379/1", "", ""},
      {"redis://[fd00::1]", "redis://[fd00::1]:6379", "", ""},
      {"rediss://u:p@h:6390?ca=/etc/ca.pem&cert=/c.pem&key=/k.pem&verify=ca", "rediss://h:6390",
       "u", "p"},
      {"unix:///run/redis.sock?db=2", "unix:///run/redis.sock", "", ""},
      {"unix://:p@/run/redis.sock", "unix:///run/redis.sock", "", "p"},
      {"redis+sentinel://a,b:2,[::2]:3/main/4", "redis+sentinel://a:26379,b:2,[::2]:3/main/4", "",
       ""},
      {"redis+sentinel://u:p@a/main?sentinel_user=s&sentinel_password=q",
       "redis+sentinel://a:26379/main", "u", "p"},
      {"redis+cluster://[fd00::1]:7000,[fd00::2]:7000",
       "redis+cluster://[fd00::1]:7000,[fd00::2]:7000", "", ""},
      {"rediss+cluster://a,b", "rediss+cluster://a:6379,b:6379", "", ""},
      {"rediss+sentinel://a/m?verify=none", "rediss+sentinel://a:26379/m", "", ""},
  };
  for (const good_row& row : rows) {
    const auto url = parse_redis_url(row.text);
    ASSERT_TRUE(url) << row.text << ": " << url.error().message;
    EXPECT_EQ(describe(*url), row.described) << row.text;
    EXPECT_EQ(url->login.user, row.user) << row.text;
    EXPECT_EQ(url->login.password, row.password) << row.text;
  }
}

TEST(RedisUrl, KeepsWhatBelongsToTlsAndSentinel) {
  const auto tls = parse_redis_url("rediss://h?ca=/a%20b.pem&server_name=r.example&verify=full");
  ASSERT_TRUE(tls);
  EXPECT_TRUE(tls->tls.enabled);
  EXPECT_EQ(tls->tls.ca_file, "/a b.pem");
  EXPECT_EQ(tls->tls.server_name, "r.example");
  const auto sentinel = parse_redis_url("redis+sentinel://a/m?sentinel_password=q");
  ASSERT_TRUE(sentinel);
  EXPECT_EQ(sentinel->master_name, "m");
  EXPECT_EQ(sentinel->sentinel_login.password, "q");
  EXPECT_EQ(sentinel->login.password, "");
}

struct bad_row {
  const char* text;
  const char* part;  // of the message
};

// A message that repeated the URL would put the password into the log.
TEST(RedisUrl, SaysWhatIsWrongWithoutTheSecret) {
  const bad_row rows[] = {
      {"", "must begin with"},
      {"s3cret", "must begin with"},
      {"http://u:s3cret@h", "must begin with"},
      {"redis://", "host is missing"},
      {"redis://u:s3cret@", "host is missing"},
      {"redis://s3cret@h", "user without password"},
      {"redis://u:@h", "password is empty"},
      {"redis://u:%s3cret@h", "two hex digits"},
      {"redis://u:s3cret@h:0", "port"},
      {"redis://u:s3cret@h:65536", "port"},
      {"redis://u:s3cret@h:x", "port"},
      {"redis://u:s3cret@::1", "[ ]"},
      {"redis://u:s3cret@[::1", "closing ]"},
      {"redis://u:s3cret@[::1]x", ":port"},
      {"redis://u:s3cret@a,b", "several hosts"},
      {"redis://u:s3cret@h/x", "database"},
      {"redis://u:s3cret@h/-1", "database"},
      {"redis://u:s3cret@h/16384", "database"},
      {"redis://u:s3cret?@h", "port"},
      {"redis://h?s3cret=1", "not known"},
      {"redis://h?ca=/x", "needs rediss://"},
      {"redis://h?verify=none", "needs rediss://"},
      {"rediss://h?verify=maybe", "full, ca or none"},
      {"rediss://h?key=/k", "key needs cert"},
      {"rediss://h?ca=", "ca is empty"},
      {"redis://h?sentinel_password=s3cret", "needs redis+sentinel://"},
      {"redis+sentinel://u:s3cret@a", "master-name"},
      {"redis+cluster://a/1", "database 0"},
      {"unix://s", "absolute path"},
      {"redis://u:s3cret @h", "%XX"},
  };
  for (const bad_row& row : rows) {
    const auto url = parse_redis_url(row.text);
    ASSERT_FALSE(url) << row.text;
    EXPECT_NE(url.error().message.find(row.part), std::string::npos)
        << row.text << ": " << url.error().message;
    EXPECT_EQ(url.error().message.find("s3cret"), std::string::npos) << url.error().message;
  }
}

}  // namespace
}  // namespace penstock::store::redis
