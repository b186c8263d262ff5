#include "admin/access.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::admin {
namespace {

using telemetry::tally;

struct request {
  const char* name;
  std::string_view method = "GET";
  std::string_view authority = "127.0.0.1:7070";
  std::vector<field> fields{};
  bool local = true;
  int want = 0;  // status; 0: welcome
};

int status_of(access& a, const request& r, std::int64_t now_ms = 0) {
  const auto refusal = a.judge({.method = r.method,
                                .authority = r.authority,
                                .fields = r.fields,
                                .local = r.local,
                                .peer = {}},
                               now_ms);
  return refusal ? refusal->status : 0;
}

const field json{"Content-Type", "application/json"};

// Without a token nothing but this machine, under its own name, may look or change.
TEST(Access, WithoutATokenOnlyThisMachineUnderItsOwnName) {
  const std::vector<request> rows = {
      {.name = "curl", .want = 0},
      {.name = "localhost", .authority = "LocalHost:7070", .want = 0},
      {.name = "IPv6", .authority = "[::1]:7070", .want = 0},
      {.name = "no port", .authority = "localhost", .want = 0},
      {.name = "listed name", .authority = "ops.example:7070", .want = 0},
      {.name = "rebound name", .authority = "evil.example:7070", .want = 403},
      {.name = "name that begins alike", .authority = "localhost.evil.example", .want = 403},
      {.name = "no host", .authority = "", .want = 403},
      {.name = "from outside", .local = false, .want = 403},
      {.name = "from outside with a local name",
       .authority = "localhost",
       .local = false,
       .want = 403},
  };
  access a({.token = {}, .hosts = {"ops.example"}});
  for (const request& r : rows) EXPECT_EQ(status_of(a, r), r.want) << r.name;
}

// A page of another site must not be able to make a change, whatever a browser lets it send.
TEST(Access, ChangesFromOtherSitesAreRefused) {
  const std::vector<request> rows = {
      {.name = "command line", .method = "POST", .fields = {json}, .want = 0},
      {.name = "charset",
       .method = "POST",
       .fields = {{"content-type", "Application/JSON; charset=utf-8"}},
       .want = 0},
      {.name = "own page",
       .method = "POST",
       .fields = {json, {"Origin", "http://127.0.0.1:7070"}, {"Sec-Fetch-Site", "same-origin"}},
       .want = 0},
      {.name = "form",
       .method = "POST",
       .fields = {{"Content-Type", "application/x-www-form-urlencoded"}},
       .want = 415},
      {.name = "text that is JSON",
       .method = "POST",
       .fields = {{"Content-Type", "text/plain"}},
       .want = 415},
      {.name = "no type", .method = "POST", .want = 415},
      {.name = "other origin",
       .method = "POST",
       .fields = {json, {"Origin", "http://evil.example"}},
       .want = 403},
      {.name = "other port",
       .method = "POST",
       .fields = {json, {"Origin", "http://127.0.0.1:8080"}},
       .want = 403},
      {.name = "sandboxed", .method = "POST", .fields = {json, {"Origin", "null"}}, .want = 403},
      {.name = "cross site",
       .method = "POST",
       .fields = {json, {"Sec-Fetch-Site", "cross-site"}},
       .want = 403},
      {.name = "same site",
       .method = "DELETE",
       .fields = {json, {"Sec-Fetch-Site", "same-site"}},
       .want = 403},
  };
  access a({.token = {}, .hosts = {}});
  for (const request& r : rows) EXPECT_EQ(status_of(a, r), r.want) << r.name;
}

// With a token the token decides; where it comes from and under which name does not matter.
TEST(Access, TheTokenDecides) {
  const std::vector<request> rows = {
      {.name = "right",
       .authority = "any.example",
       .fields = {{"Authorization", "Bearer s3cret"}},
       .local = false,
       .want = 0},
      {.name = "scheme in any case", .fields = {{"authorization", "bearer  s3cret "}}, .want = 0},
      {.name = "none", .want = 401},
      {.name = "empty", .fields = {{"Authorization", "Bearer "}}, .want = 401},
      {.name = "wrong", .fields = {{"Authorization", "Bearer s3cres"}}, .want = 401},
      {.name = "prefix", .fields = {{"Authorization", "Bearer s3cre"}}, .want = 401},
      {.name = "other scheme", .fields = {{"Authorization", "Basic s3cret"}}, .want = 401},
      {.name = "change from a form",
       .method = "POST",
       .fields = {{"Authorization", "Bearer s3cret"}},
       .want = 415},
  };
  access a({.token = sha256("s3cret"), .hosts = {}});
  for (const request& r : rows) EXPECT_EQ(status_of(a, r), r.want) << r.name;
}

// Guessing is slow: after ten wrong tokens even the right one waits; a request without one is no
// guess.
TEST(Access, WrongTokensLockTheirPeerOutForAMinute) {
  access a({.token = sha256("s3cret"), .hosts = {}});
  const request wrong{.name = "", .fields = {{"Authorization", "Bearer x"}}};
  const request right{.name = "", .fields = {{"Authorization", "Bearer s3cret"}}};
  for (int i = 0; i < 100; ++i) EXPECT_EQ(status_of(a, {.name = "none"}), 401);
  for (int i = 0; i < access::failures_max; ++i) EXPECT_EQ(status_of(a, wrong, 1000), 401);
  EXPECT_EQ(status_of(a, right, 2000), 429);
  const auto other =
      a.judge({.method = "GET", .authority = "", .fields = right.fields, .peer = {1}}, 2000);
  EXPECT_FALSE(other) << "another peer is not locked out";
  EXPECT_EQ(status_of(a, right, 1000 + access::failures_window_ms), 0);
}

// The table of failures is bounded: more attackers than places share one count.
TEST(Access, ManyAttackersDoNotGrowTheTable) {
  access a({.token = sha256("s3cret"), .hosts = {}});
  const std::vector<field> wrong = {{"Authorization", "Bearer x"}};
  int locked = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::array<std::uint8_t, 16> peer{static_cast<std::uint8_t>(i >> 8),
                                            static_cast<std::uint8_t>(i)};
    const auto r = a.judge({.method = "GET", .authority = "", .fields = wrong, .peer = peer}, 5);
    ASSERT_TRUE(r);
    locked += r->status == 429 ? 1 : 0;
  }
  EXPECT_GT(locked, 9'000);
}

}  // namespace
}  // namespace penstock::admin
