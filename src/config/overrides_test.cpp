#include "config/overrides.hpp"

#include <map>

#include <gtest/gtest.h>

#include "config/load.hpp"

namespace penstock::config {
namespace {

config with_file() {
  auto r = load_text("f.yaml", R"(version: 1
gateway: { listen: ":1", upstream: ["http://a", "http://b"] }
limits: [{ name: address-10-s, key: address, rate: 10/s }]
)");
  EXPECT_TRUE(r.ok());
  return r.value;
}

// Containers are configured by variables, people by flags: both must reach every setting.
TEST(Overrides, ReplaceWhatTheFileSays) {
  auto c = with_file();
  overrides o;
  o.listen = "127.0.0.1:80";
  o.store = "redis://:secret@cache";
  o.decision_http = ":2";
  o.decision_grpc = ":3";
  o.decision_redis = ":4";
  o.admin = "unix:/a";
  o.health = ":5";
  o.workers = "3";
  o.upstreams = {"http://c"};
  o.limits = {"address 10/s", "global 5/s"};
  EXPECT_TRUE(apply_overrides(o, override_source::flags, c).empty());
  EXPECT_EQ(to_text(*c.gateway.listen), "127.0.0.1:80");
  EXPECT_EQ(redacted(*c.store.url), "redis://cache:6379/0");
  EXPECT_EQ(c.decision.http->port, 2);
  EXPECT_EQ(c.decision.grpc->port, 3);
  EXPECT_EQ(c.decision.redis->port, 4);
  EXPECT_EQ(c.admin.listen->unix_path, "/a");
  EXPECT_EQ(c.health.listen->port, 5);
  EXPECT_EQ(c.workers, 3);
  ASSERT_EQ(c.gateway.upstreams.size(), 1U);
  EXPECT_EQ(to_text(c.gateway.upstreams[0]), "http://c:80");
  ASSERT_EQ(c.policy.limits.size(), 3U);
  EXPECT_EQ(c.policy.limits[1].name, "address-10-s-2");
  EXPECT_EQ(c.policy.limits[2].name, "global-5-s");
}

// The words a person sees for a mistyped flag; a store's URL never shows.
TEST(Overrides, PointIntoTheFlag) {
  auto c = with_file();
  overrides o;
  o.listen = "localhost";
  o.store = "redis://u:hunter2@";
  o.limits = {"adress 10/s"};
  EXPECT_EQ(format(apply_overrides(o, override_source::flags, c), {}),
            "--listen: \"localhost\" has no port\n   | localhost\n   |          ^\n"
            "  hint: HOST:PORT, :PORT or unix:PATH, for example 127.0.0.1:8080\n"
            "--store: the store's host and port are not readable\n"
            "  hint: HOST:PORT; write '/' and '@' of a password as %2F and %40\n"
            "--limit: unknown key \"adress\"\n   | adress 10/s\n   | ^\n  hint: did you mean "
            "\"address\"?\n");
  o = {};
  o.workers = "many";
  EXPECT_EQ(apply_overrides(o, override_source::environment, c).at(0).file, "PENSTOCK_WORKERS");
}

// Separators must not tear a limit or a URL apart.
TEST(Overrides, ReadTheEnvironment) {
  const std::map<std::string, std::string> set{
      {"PENSTOCK_UPSTREAM", "http://a, http://b,"},
      {"PENSTOCK_LIMIT", "address 10/s; user + route | address 3/h ;"},
      {"PENSTOCK_LISTEN", ""},
      {"PENSTOCK_STORE", "redis://h"}};
  const auto o = overrides_from_environment([&](const char* name) -> std::optional<std::string> {
    const auto at = set.find(name);
    return at == set.end() ? std::nullopt : std::optional(at->second);
  });
  EXPECT_EQ(o.upstreams, (std::vector<std::string>{"http://a", "http://b"}));
  EXPECT_EQ(o.limits, (std::vector<std::string>{"address 10/s", "user + route | address 3/h"}));
  EXPECT_EQ(o.listen, std::nullopt);
  EXPECT_EQ(o.store, "redis://h");
}

// A flag can open the admin port as well as a file can.
TEST(Overrides, CheckTheWholeAgain) {
  auto c = with_file();
  overrides o;
  o.admin = ":7070";
  o.limits = {"user 10/s"};
  EXPECT_EQ(format(apply_overrides(o, override_source::flags, c), {}),
            "f.yaml: admin.listen: reachable from other machines without a token\n"
            "  hint: listen on 127.0.0.1, or add token_sha256\n"
            "f.yaml: limit 'user 10/s'.key: nothing says which header names the user\n"
            "  hint: add identity: { user: { header: X-User-Id } }\n");
}

}  // namespace
}  // namespace penstock::config
