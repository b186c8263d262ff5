#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "policy/policy_test_support.hpp"

namespace penstock::policy::test {
namespace {

using parts = std::vector<std::string>;

// The key of one stated charge under a policy with one limit; the reason when there is none.
std::string stated_key(const compiled_policy& p, const parts& key) {
  const stated_charge one{.limit = "l", .key = key};
  plan out;
  p.make_plan({.stated = {&one, 1}}, out);
  return out.charges.size() == 1 ? std::string(out.charges.front().key) : std::string(out.reason);
}

constexpr const char* no_key = "the key is not one that the limit counts by";

// What a caller names and what a request has are one counter exactly when they are one identity.
TEST(Stated, KeysAreThoseOfRequests) {
  using enum key_kind;
  const struct {
    const char* name;
    key_expression key;
    request r;
    parts stated;
  } rows[] = {
      // clang-format off
      {"address", key_of(address), {.peer = "::ffff:203.0.113.9"}, {"address:203.0.113.9"}},
      {"network", key_of(address), {.peer = "2001:db8::9"}, {"address:2001:db8::1"}},
      {"global", key_of(global), {}, {}},
      {"method", key_of(method), {.method = "PUT"}, {"method:PUT"}},
      {"host", key_of(host), {.host = "API.example.com:80"}, {"host:api.example.com"}},
      {"header", key_of(header, "X-Tenant"), {.fields = {{"x-tenant", "a:b+c"}}}, {"header(x-TENANT):a:b+c"}},
      {"query", key_of(query, "q"), {.query = "q=a%20b"}, {"query(q):a b"}},
      {"cookie", key_of(cookie, "c"), {.fields = {{"Cookie", "c=1"}}}, {"cookie(c):1"}},
      {"route", key_of(route), {.path = "//a/./b/"}, {"route:/a/b"}},
      {"together", key_of({{{method}, {address}}}), {.method = "PUT", .peer = "192.0.2.1"}, {"address:192.0.2.1", "method:PUT"}},
      {"second choice", key_of({{{header, "X-A"}}, {{address}}}), {.peer = "192.0.2.1"}, {"address:192.0.2.1"}},
      // clang-format on
  };
  for (const auto& row : rows) {
    policy_spec spec;
    spec.limits = {limit("l", row.key)};
    const auto p = compiled(spec);
    const std::string of_request = key_text(*p, row.r);
    EXPECT_FALSE(of_request.empty()) << row.name;
    EXPECT_EQ(stated_key(*p, row.stated), of_request) << row.name;
  }
}

// Nothing is guessed: another part, too few, too many, or a value of another kind is no key.
TEST(Stated, WhatTheLimitDoesNotCountByIsNoKey) {
  using enum key_kind;
  policy_spec spec;
  spec.limits = {limit("l", key_of({{{user}, {header, "X-A"}}, {{address}}}))};
  spec.identity.user_header = "X-User-Id";
  const auto p = compiled(spec);
  EXPECT_EQ(stated_key(*p, {"user:1", "header(x-a):2"}).substr(0, 7), "user:1+");
  for (const parts& wrong : {parts{},
                             {"user:1"},
                             {"user:1", "header(x-b):2"},
                             {"user:", "header(x-a):2"},
                             {"user"},
                             {"address:nowhere"},
                             {"address:192.0.2.1", "user:1"},
                             {"*"},
                             {"header(x-a:2", "user:1"},
                             {"user:1", "user:2", "header(x-a):2"}}) {
    EXPECT_EQ(stated_key(*p, wrong), no_key);
  }
}

// A plan follows the identity that is named, a shadow stays one, and failures count when named.
TEST(Stated, ChargesAsTheLimitSays) {
  policy_spec spec;
  spec.identity.user_header = "X-User-Id";
  spec.plans["free"].quotas = {per(5, std::chrono::minutes{1})};
  spec.plans["gold"].quotas = {per(50, std::chrono::minutes{1})};
  auto planned_limit = limit("l", key_of(key_kind::user));
  planned_limit.plan = plan_reference{.by = key_kind::user, .from = "f", .fallback = "free"};
  planned_limit.mode = limit_mode::shadow;
  planned_limit.count_statuses = {401};
  planned_limit.cost.constant = 3;
  auto off = limit("off", key_of(key_kind::global));
  off.mode = limit_mode::off;
  spec.limits = {planned_limit, off};
  const auto p = compiled(spec, {.known_keys_sha256 = {}, .plan_of = {{"u1", "gold"}}});
  const parts gold{"user:u1"}, free{"user:u2"};
  const stated_charge both[] = {{"l", gold}, {"l", free, 7}};
  plan out;
  p->make_plan({.stated = both}, out);
  ASSERT_EQ(out.charges.size(), 2U) << out.reason;
  EXPECT_EQ(out.charges[0].what->quota.source.count, 50);
  EXPECT_EQ(out.charges[1].what->quota.source.count, 5);
  EXPECT_EQ(out.charges[0].cost, 3);
  EXPECT_EQ(out.charges[1].cost, 7);
  EXPECT_EQ(out.charges[0].as, role::shadow);
  EXPECT_FALSE(out.charges[0].only_check);
  EXPECT_EQ(out.charges[0].key, "user:u1");
  EXPECT_EQ(out.charges[1].key, "user:u2");

  const stated_charge none{.limit = "none"}, switched_off{.limit = "off"};
  p->make_plan({.stated = {&none, 1}}, out);
  EXPECT_EQ(out.what, planned::bad_request);
  p->make_plan({.stated = {&switched_off, 1}}, out);
  EXPECT_STREQ(out.reason, "the limit is switched off");
}

}  // namespace
}  // namespace penstock::policy::test
