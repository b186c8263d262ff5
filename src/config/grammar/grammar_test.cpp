// Every short grammar: what it accepts, written back, and what it refuses, with the offset.
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "config/grammar/duration.hpp"
#include "config/grammar/listen.hpp"
#include "config/grammar/rate.hpp"
#include "config/grammar/size.hpp"
#include "config/grammar/store_url.hpp"
#include "config/grammar/upstream.hpp"

namespace penstock::config {
namespace {

template <class T, class Show>
std::string outcome(const parsed<T>& p, Show show) {
  if (p) return show(*p);
  return "at " + std::to_string(p.error().offset) + ": " + p.error().message;
}

struct row {
  std::string_view text;
  std::string want;
};

// The largest values must fit and the next ones must not wrap around.
TEST(Duration, ReadsAndRefuses) {
  const row rows[] = {
      {"0", "0"},
      {"20ms", "20ms"},
      {"1500ms", "1500ms"},
      {"60s", "1min"},
      {"60min", "1h"},
      {"24h", "1d"},
      {"400d", "400d"},
      {"1us", "1us"},
      {"0s", "0"},
      {"34560000s", "400d"},
      {"", "at 0: \"\" is not a duration"},
      {"401d", "at 0: \"401d\" is too long"},
      {"34560001s", "at 0: \"34560001s\" is too long"},
      {"99999999999999999999s", "at 0: \"99999999999999999999s\" is too long"},
      {"-1s", "at 0: \"-1s\" is not a duration"},
      {" 1s", "at 0: \" 1s\" is not a duration"},
      {"1s ", "at 1: unknown unit \"s \""},
      {"1 s", "at 1: unknown unit \" s\""},
      {"1m", "at 1: unknown unit \"m\""},
      {"1", "at 1: \"1\" has no unit"},
  };
  for (const auto& r : rows) {
    EXPECT_EQ(outcome(parse_duration(r.text), [](duration d) { return to_text(d); }), r.want)
        << r.text;
  }
}

TEST(Size, ReadsAndRefuses) {
  const row rows[] = {
      {"0", "0"},
      {"1500", "1500"},
      {"8KiB", "8KiB"},
      {"65536", "64KiB"},
      {"1B", "1"},
      {"1024GiB", "1TiB"},
      {"8191TiB", "8191TiB"},
      {"8192TiB", "at 0: \"8192TiB\" is too large"},
      {"9007199254740991", "9007199254740991"},
      {"9007199254740992", "at 0: \"9007199254740992\" is too large"},
      {"8kib", "at 1: unknown unit \"kib\""},
      {"8M", "at 1: unknown unit \"M\""},
      {"", "at 0: \"\" is not a size"},
      {"-8", "at 0: \"-8\" is not a size"},
  };
  for (const auto& r : rows) EXPECT_EQ(outcome(parse_size(r.text), size_text), r.want) << r.text;
}

TEST(Rate, ReadsAndRefuses) {
  const row rows[] = {
      {"10/s", "10/s"},
      {"100/min", "100/min"},
      {"5000/10min", "5000/10min"},
      {"60/30s", "60/30s"},
      {"60/60s", "60/min"},
      {"1000000/30d", "1000000/30d"},
      {"0", "0/s"},
      {"0/min", "0/min"},
      {"unlimited", "unlimited"},
      {"10/1s", "10/s"},
      {"10/15ms", "10/15ms"},
      {"9007199254740991/d", "9007199254740991/d"},
      {"9007199254740992/d", "at 0: the count is too large"},
      {"10/", "at 3: unknown unit \"\""},
      {"/s", "at 0: \"/s\" is not a rate"},
      {"10/s/s", "at 3: unknown unit \"s/s\""},
      {"1.5/s", "at 1: \"1.5/s\" is not a rate"},
      {"-1/s", "at 0: \"-1/s\" is not a rate"},
      {"Unlimited", "at 0: \"Unlimited\" is not a rate"},
      {"10/0min", "at 3: the period must not be 0"},
  };
  for (const auto& r : rows) {
    EXPECT_EQ(outcome(parse_rate(r.text), [](const rate& x) { return to_text(x); }), r.want)
        << r.text;
  }
}

// Flags, file and start-up line all speak this form.
TEST(ListenAddress, ReadsAndRefuses) {
  const row rows[] = {
      {"127.0.0.1:8080", "127.0.0.1:8080"},
      {":7071", ":7071"},
      {"[::1]:80", "[::1]:80"},
      {"localhost:0", "localhost:0"},
      {"unix:/a b", "unix:/a b"},
      {"unix:rel", "unix:rel"},
      {"a_b.example.com:1", "a_b.example.com:1"},
      {"", "at 0: \"\" is not a host"},
      {":", "at 1: \"\" is not a port"},
      {":80x", "at 1: \"80x\" is not a port"},
      {"1.2.3:80", "at 0: \"1.2.3\" is not a host"},
      {"[127.0.0.1]:80", "at 1: \"127.0.0.1\" is not an IPv6 address"},
      {"a:b:80", "at 0: \"a:b:80\" is ambiguous"},
  };
  for (const auto& r : rows) {
    EXPECT_EQ(outcome(parse_listen(r.text), [](const listen_address& a) { return to_text(a); }),
              r.want)
        << r.text;
  }
}

// The admin port opens only to what this says.
TEST(ListenAddress, KnowsWhatIsLocal) {
  for (const char* text : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1", "unix:/a",
                           "[::ffff:127.0.0.1]:1"}) {
    EXPECT_TRUE(is_local(*parse_listen(text))) << text;
  }
  for (const char* text :
       {":1", "0.0.0.0:1", "[::]:1", "10.0.0.1:1", "localhost.example.com:1", "[::2]:1"}) {
    EXPECT_FALSE(is_local(*parse_listen(text))) << text;
  }
}

TEST(Upstream, ReadsAndRefuses) {
  const row rows[] = {
      {"http://a", "http://a:80"},
      {"http://a:3000/", "http://a:3000"},
      {"http://[::1]:1", "http://[::1]:1"},
      {"unix:/run/a.sock", "unix:/run/a.sock"},
      {"unix:///run/a.sock", "unix:/run/a.sock"},
      {"http://", "at 7: \"\" is not a host"},
      {"http://a?b", "at 8: an upstream URL has no path"},
      {"HTTP://a", "at 0: not an upstream URL"},
  };
  for (const auto& r : rows) {
    EXPECT_EQ(outcome(parse_upstream(r.text), [](const upstream_url& u) { return to_text(u); }),
              r.want)
        << r.text;
  }
}

// Four ways to reach Redis; what is logged never has the password.
TEST(StoreUrl, ReadsAndRefuses) {
  const row rows[] = {
      {"redis://h", "redis://h:6379/0"},
      {"rediss://u:p%40x@h:1/5", "rediss://h:1/5"},
      {"valkey://h", "redis://h:6379/0"},
      {"unix:///run/r.sock?db=3", "unix:///run/r.sock?db=3"},
      {"redis+sentinel://:p@a,b:1/main/2", "redis+sentinel://a:26379,b:1/main/2"},
      {"rediss+cluster://a,b", "rediss+cluster://a:6379,b:6379"},
      {"redis://", "at 8: the store's host and port are not readable"},
      {"redis://h/1024", "at 10: the database is a number from 0 to 1023"},
      {"redis://:p@", "at 11: the store's host and port are not readable"},
      {"redis://u:%4@h", "at 8: bad percent encoding in user or password"},
  };
  for (const auto& r : rows)
    EXPECT_EQ(outcome(parse_store_url(r.text), redacted), r.want) << r.text;
  const auto url = *parse_store_url("rediss://us%3aer:p@ss%2F@h");
  EXPECT_EQ(url.user, "us:er");
  EXPECT_EQ(url.password, "p@ss/");
  EXPECT_TRUE(url.tls);
}

}  // namespace
}  // namespace penstock::config
