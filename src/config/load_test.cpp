#include "config/load.hpp"

#include <gtest/gtest.h>

#include "config/document.hpp"

namespace penstock::config {
namespace {

// The README promises that this is enough.
TEST(LoadText, AcceptsTheFirstUsefulPolicy) {
  const auto r = load_text("policy.yaml", R"(version: 1
gateway: { listen: "127.0.0.1:8080", upstream: "http://127.0.0.1:3000" }
limits:
  - { name: per-client, key: address, rate: 10/s, burst: 20 }
)");
  ASSERT_TRUE(r.ok()) << format(r.issues, r.source);
  ASSERT_EQ(r.value.policy.limits.size(), 1U);
  const auto& limit = r.value.policy.limits[0];
  EXPECT_EQ(limit.name, "per-client");
  EXPECT_EQ(limit.key.text, "address");
  EXPECT_EQ(limit.rate.quotas.at(0).count, 10);
  EXPECT_EQ(limit.rate.quotas.at(0).burst, 20);
  EXPECT_EQ(r.value.gateway.listen->port, 8080);
  EXPECT_EQ(r.value.gateway.upstreams.at(0).at.port, 3000);
  EXPECT_FALSE(r.value.store.url);
}

// One run has to be enough to mend a file.
TEST(LoadText, ReportsEveryProblemInLineOrder) {
  const auto r = load_text("policy.yaml", R"(version: 2
gatway: {}
limits:
  - { name: a, key: adress, rate: 10/x, brust: 3 }
  - { name: a, key: address, rate: 1/s, name: b }
  - { key: address }
)");
  EXPECT_EQ(
      format(r.issues, {}),
      "policy.yaml:1:10: version: this program reads version 1 only\n  hint: write version: 1\n"
      "policy.yaml:2:1: gatway: unknown key\n  hint: did you mean \"gateway\"?\n"
      "policy.yaml:4:21: limits[0].key: unknown key \"adress\"\n  hint: did you mean \"address\"?\n"
      "policy.yaml:4:38: limits[0].rate: unknown unit \"x\"\n  hint: units are us, ms, s, min, h, "
      "d\n"
      "policy.yaml:4:41: limits[0].brust: unknown key\n  hint: did you mean \"burst\"?\n"
      "policy.yaml:5:13: limits[1].name: another limit has this name\n"
      "  hint: counters belong to the name: every limit needs its own\n"
      "policy.yaml:5:41: limits[1].name: duplicate key\n  hint: it stands first on line 5\n"
      "policy.yaml:6:5: limits[2].name: is missing\n  hint: A word for metrics and headers, for "
      "example "
      "`name: login`. Counters belong to it: keep it when the rate changes.\n"
      "policy.yaml:6:5: limits[2]: has no rate\n  hint: add for example rate: 10/s\n");
}

// An operator's mistake or a tenant's file must not take the process down.
TEST(LoadText, BoundsTheFile) {
  const auto big = load_text("f", "version: 1\n#" + std::string(largest_document, 'x'));
  EXPECT_EQ(format(big.issues, big.source),
            "f: larger than 4 MiB\n  hint: plans and known keys belong in files of their own\n");
  for (const std::string sign : {"[", "{", "- ", "? ", "a: [", "[a, "}) {
    std::string text;
    while (text.size() < 100'000) text += sign;
    EXPECT_FALSE(load_text("f", text).ok()) << sign;
  }
}

// A missing file is a message, not an exception.
TEST(LoadFile, SaysWhyAFileCannotBeRead) {
  const auto r = load_file("/nonexistent/policy.yaml");
  EXPECT_EQ(format(r.issues, r.source),
            "/nonexistent/policy.yaml: cannot be opened: No such file or directory\n");
  EXPECT_FALSE(load_file("/").ok());
}

}  // namespace
}  // namespace penstock::config
