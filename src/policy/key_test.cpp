// What requests are counted by, and how it is written for the store.
#include <set>

#include <rapidcheck.h>

#include "base/sha256.hpp"
#include "policy/policy_test_support.hpp"

namespace penstock::policy {
namespace {

using namespace test;

std::string sha(std::string_view text) {
  std::string out = "#";
  append_hex(out, sha256(text));
  return out;
}

policy_spec one(key_expression key, missing_key on_missing = missing_key::skip) {
  policy_spec spec;
  spec.limits.push_back(limit("l", std::move(key)));
  spec.limits[0].on_missing_key = on_missing;
  spec.identity.api_key = api_key_spec{identity_source::header, "X-API-Key", ""};
  spec.identity.user_header = "X-User-Id";
  spec.client.trusted_proxies = {"10.0.0.0/8"};
  return spec;
}

struct row {
  const char* name;
  key_expression key;
  request r;
  std::string want;
};

// The written form is part of the stored data: changing it forgets every counter.
TEST(key, is_written_as_the_reference_says) {
  const key_part address{key_kind::address, ""}, route{key_kind::route, ""};
  const key_part user{key_kind::user, ""}, tenant{key_kind::header, "X-Tenant"};
  key_part shown = tenant;
  shown.show = true;
  const row rows[] = {
      {"global", key_of(key_kind::global), {}, "*"},
      {"IPv4", key_of(key_kind::address), {}, "address:203.0.113.9"},
      {"IPv6",
       key_of(key_kind::address),
       {.peer = "2001:db8:1:2:3::4"},
       "address:2001:db8:1:2::/64"},
      {"api key",
       key_of(key_kind::api_key),
       {.fields = {{"x-api-key", "k1"}}},
       "api_key" + sha("k1")},
      {"user",
       key_of(key_kind::user),
       {.fields = {{"X-User-Id", "42"}}, .peer = "10.0.0.1"},
       "user:42"},
      {"user with @",
       key_of(key_kind::user),
       {.fields = {{"X-User-Id", "a@b"}}, .peer = "10.0.0.1"},
       "user" + sha("a@b")},
      {"method", key_of(key_kind::method), {.method = "PATCH"}, "method:PATCH"},
      {"host and port",
       key_of(key_kind::host),
       {.host = "API.Example.com:8443"},
       "host:api.example.com"},
      {"header",
       key_of(key_kind::header, "X-Tenant"),
       {.fields = {{"x-tenant", "acme"}}},
       "header(x-tenant)" + sha("acme")},
      {"header shown",
       key_of({{shown}}),
       {.fields = {{"x-tenant", "acme"}}},
       "header(x-tenant):acme"},
      {"header shown, odd",
       key_of({{shown}}),
       {.fields = {{"x-tenant", "a:b"}}},
       "header(x-tenant)" + sha("a:b")},
      {"header shown, long",
       key_of({{shown}}),
       {.fields = {{"x-tenant", std::string(65, 'a')}}},
       "header(x-tenant)" + sha(std::string(65, 'a'))},
      {"query",
       key_of(key_kind::query, "id"),
       {.query = "x=1&%69d=a%62+c&y"},
       "query(id)" + sha("ab c")},
      {"query NUL",
       key_of(key_kind::query, "id"),
       {.query = "id=AB%00CD"},
       "query(id)" + sha(std::string_view("AB\0CD", 5))},
      {"cookie",
       key_of(key_kind::cookie, "sid"),
       {.fields = {{"Cookie", "a=1; sid=\"x\"; sid2=y"}}},
       "cookie(sid)" + sha("x")},
      {"constant", key_of(key_kind::constant, "all"), {}, "constant:all"},
      {"route", key_of(key_kind::route), {.path = "/a/b/"}, "route" + sha("/a/b")},
      {"together",
       key_of({{user, route}}),
       {.path = "/x", .fields = {{"X-User-Id", "42"}}, .peer = "10.0.0.1"},
       "user:42+route" + sha("/x")},
      {"first alternative",
       key_of({{user}, {address}}),
       {.fields = {{"X-User-Id", "42"}}, .peer = "10.0.0.1"},
       "user:42"},
      {"second alternative",
       key_of({{user}, {address}}),
       {.fields = {{"X-User-Id", "42"}}},
       "address:203.0.113.9"},
      {"incomplete alternative",
       key_of({{user, tenant}, {address}}),
       {.fields = {{"X-User-Id", "4"}}, .peer = "10.0.0.1"},
       "address:10.0.0.1"},
      {"missing", key_of(key_kind::user), {}, ""},
      {"empty is missing",
       key_of(key_kind::header, "X-Tenant"),
       {.fields = {{"X-Tenant", ""}}},
       ""},
  };
  for (const row& r : rows) EXPECT_EQ(key_text(*compiled(one(r.key)), r.r), r.want) << r.name;
}

// Hosts with and without final dots, and one IPv6 address in all its spellings, are one host.
TEST(key, counts_every_spelling_of_a_host_as_one) {
  const auto p = compiled(one(key_of(key_kind::host)));
  EXPECT_EQ(key_text(*p, {.host = "API.example.com."}), "host:api.example.com");
  EXPECT_EQ(key_text(*p, {.host = "[2001:DB8::1]:80"}), "host" + sha("[2001:db8::1]"));
  EXPECT_EQ(key_text(*p, {.host = "[2001:db8:0:0::0:1]"}), "host" + sha("[2001:db8::1]"));
  EXPECT_EQ(key_text(*p, {.host = "API.example.com.."}), "host:api.example.com");
}

// Ten thousand addresses of one household are one client; the neighbour is another.
TEST(key, counts_an_ipv6_network_as_one_client) {
  const auto p = compiled(one(key_of(key_kind::address)));
  std::set<std::string> keys;
  for (int i = 0; i < 10'000; ++i) {
    keys.insert(key_text(*p, {.peer = "2001:db8:1:2::" + std::to_string(i % 5000) + ":" +
                                      std::to_string(i / 5000)}));
  }
  keys.insert(key_text(*p, {.peer = "2001:db8:1:3::1"}));
  EXPECT_EQ(keys,
            (std::set<std::string>{"address:2001:db8:1:2::/64", "address:2001:db8:1:3::/64"}));
}

// Prefixes are the operator's: every width is written so that it cannot be mistaken.
TEST(key, writes_addresses_with_the_configured_prefix) {
  struct {
    const char* peer;
    int v4, v6;
    const char* want;
  } const rows[] = {
      {"203.0.113.9", 32, 64, "address:203.0.113.9"},
      {"203.0.113.9", 24, 64, "address:203.0.113.0/24"},
      {"203.0.113.9", 8, 64, "address:203.0.0.0/8"},
      {"2001:db8:1:2:3:4:5:6", 32, 64, "address:2001:db8:1:2::/64"},
      {"2001:db8:1:2:3:4:5:6", 32, 56, "address:2001:db8:1::/56"},
      {"2001:db8:1:2ff::1", 32, 56, "address:2001:db8:1:200::/56"},
      {"2001:db8:1:2::1", 32, 48, "address:2001:db8:1::/48"},
      {"::ffff:203.0.113.9", 32, 64, "address:203.0.113.9"},
      {"fe80::1%eth0", 32, 64, "address:fe80::/64"},
      {"2001:db8::1", 32, 128, "address:2001:db8::1"},
      {"2001:db8::1", 32, 104, "address:2001:db8::/104"},
      {"2001:db8::1.2.3.4", 32, 64, "address:2001:db8::/64"},
  };
  for (const auto& r : rows) {
    policy_spec spec = one(key_of(key_kind::address));
    spec.client.ipv4_prefix = r.v4;
    spec.client.ipv6_prefix = r.v6;
    EXPECT_EQ(key_text(*compiled(spec), {.peer = r.peer}), r.want) << r.peer << " " << r.v6;
  }
}

// Exports of two users are one route; two files are two.
TEST(key, puts_the_names_of_a_pattern_into_the_route) {
  policy_spec spec = one(key_of(key_kind::route));
  spec.limits[0].match.path = "/users/{id}/files/*";
  const auto p = compiled(spec);
  EXPECT_EQ(key_text(*p, {.path = "/users/1/files/a"}), "route" + sha("/users/{id}/files/a"));
  EXPECT_EQ(key_text(*p, {.path = "/users/2/files/a/"}), "route" + sha("/users/{id}/files/a"));
  EXPECT_EQ(key_text(*p, {.path = "/users/2/files/b"}), "route" + sha("/users/{id}/files/b"));
  spec.limits[0].match.path = "/users/{id}/**";
  EXPECT_EQ(key_text(*compiled(spec), {.path = "/users/2/x/y"}), "route" + sha("/users/{id}/x/y"));
  spec.limits[0].shared_route = true;
  EXPECT_EQ(key_text(*compiled(spec), {.path = "/users/2/x/y"}), "route" + sha("/users/{id}/**"));
}

// What happens without the key is written down, never an accident.
TEST(key, does_what_on_missing_key_says) {
  const auto key = key_of({{{key_kind::user, ""}, {key_kind::method, ""}}});
  EXPECT_EQ(key_text(*compiled(one(key, missing_key::skip)), {}), "");
  EXPECT_EQ(key_text(*compiled(one(key, missing_key::address)), {}),
            "address:203.0.113.9+method:GET");
  EXPECT_EQ(key_text(*compiled(one(key, missing_key::shared)), {}), "user:+method:GET");
  const decision d = conclude(*compiled(one(key, missing_key::deny)), {}, {});
  EXPECT_EQ(d.what, outcome::deny);
  EXPECT_EQ(d.status, 429);
  EXPECT_EQ(d.reported, 0U);
  EXPECT_EQ(d.body,
            "{\"error\":\"rate limit exceeded\",\"limit\":\"l\",\"reason\":\"missing_key\"}\n");
  EXPECT_EQ(d.headers, "Cache-Control: no-store\r\n");
}

// A request that will be refused for a missing key charges nothing else.
TEST(key, charges_nothing_when_a_missing_key_denies) {
  policy_spec spec = one(key_of(key_kind::user), missing_key::deny);
  spec.limits.insert(spec.limits.begin(), limit("before", key_of(key_kind::global)));
  spec.limits.push_back(limit("after", key_of(key_kind::global)));
  request r;
  plan out;
  make_plan(*compiled(spec), r, out);
  EXPECT_EQ(out.what, planned::deny);
  EXPECT_EQ(out.denied_by, 1U);
  EXPECT_TRUE(out.charges.empty());
  spec.shadow_all = true;
  make_plan(*compiled(spec), r, out);
  EXPECT_EQ(out.what, planned::check);
  EXPECT_EQ(out.charges.size(), 2U);
  EXPECT_TRUE(out.shadow_denied);
}

// The limiter must not count one key while the upstream reads the other.
TEST(key, refuses_a_counted_value_that_stands_there_twice) {
  const auto refused = [](const policy_spec& spec, request r) {
    return conclude(*compiled(spec), std::move(r), {}).status == 400;
  };
  const policy_spec by_key = one(key_of(key_kind::api_key));
  EXPECT_TRUE(refused(by_key, {.fields = {{"X-Api-Key", "free"}, {"x-api-key", "victim"}}}));
  EXPECT_TRUE(refused(by_key, {.fields = {{"X-Api-Key", ""}, {"x-api-key", "victim"}}}));
  const policy_spec by_user = one(key_of(key_kind::user));
  EXPECT_TRUE(
      refused(by_user, {.fields = {{"X-User-Id", "1"}, {"X-User-Id", "2"}}, .peer = "10.0.0.1"}));
  EXPECT_FALSE(refused(by_user, {.fields = {{"X-User-Id", "1"}, {"X-User-Id", "2"}}}));
  const policy_spec by_query = one(key_of(key_kind::query, "id"));
  EXPECT_TRUE(refused(by_query, {.query = "id=1&i%64=2"}));
  const policy_spec by_cookie = one(key_of(key_kind::cookie, "s"));
  EXPECT_TRUE(refused(by_cookie, {.fields = {{"Cookie", "s=1"}, {"Cookie", "s=2"}}}));
}

// A shadow limit reports only: a request that it could not count must pass all the same.
TEST(key, lets_a_shadow_limit_refuse_nobody_for_a_value_that_stands_there_twice) {
  policy_spec spec = one(key_of(key_kind::query, "id"));
  spec.limits[0].mode = limit_mode::shadow;
  spec.limits.push_back(limit("other", key_of(key_kind::global)));
  request r{.query = "id=1&id=2"};
  plan out;
  make_plan(*compiled(spec), r, out);
  EXPECT_EQ(out.what, planned::check);
  EXPECT_EQ(out.limit_of, std::vector<std::uint32_t>{1});
  EXPECT_TRUE(out.shadow_denied);
}

// Made-up API keys must not buy fresh counters.
TEST(key, takes_an_unknown_api_key_for_none) {
  policy_spec spec = one(key_of({{{key_kind::api_key, ""}}, {{key_kind::address, ""}}}));
  spec.identity.api_key->known = "keys.txt";
  const auto p = compiled(spec, {{sha("known").substr(1)}, {}});
  EXPECT_EQ(key_text(*p, {.fields = {{"X-API-Key", "known"}}}), "api_key" + sha("known"));
  EXPECT_EQ(key_text(*p, {.fields = {{"X-API-Key", "made up"}}}), "address:203.0.113.9");
}

// The spelling of the scheme is the client's; the key is not.
TEST(key, reads_an_api_key_behind_its_scheme) {
  policy_spec spec = one(key_of(key_kind::api_key));
  spec.identity.api_key->name = "Authorization";
  const auto p = compiled(spec);
  for (const char* value : {"Bearer k1", "bearer k1", "BEARER   k1", "k1"}) {
    EXPECT_EQ(key_text(*p, {.fields = {{"authorization", value}}}), "api_key" + sha("k1")) << value;
  }
  EXPECT_EQ(key_text(*p, {.fields = {{"authorization", "Bearer "}}}), "");
  spec.identity.api_key = api_key_spec{identity_source::query, "key", ""};
  EXPECT_EQ(key_text(*compiled(spec), {.query = "key=k%31"}), "api_key" + sha("k1"));
  spec.identity.api_key = api_key_spec{identity_source::cookie, "key", ""};
  EXPECT_EQ(key_text(*compiled(spec), {.fields = {{"Cookie", "key=k1"}}}), "api_key" + sha("k1"));
}

// Hostile text never reaches a store: only these bytes do, whatever the client sends.
TEST(key, holds_no_byte_that_a_client_could_steer_with) {
  const key_part shown{key_kind::header, "x-a", true}, other{key_kind::header, "x-b", true};
  const auto p = compiled(one(key_of({{shown, other}})));
  const auto piece = rc::gen::element<std::string>("{", "}", ":", "#", "+", "|", "\r\n", "$3", "a",
                                                   "b", "*", " ", "address", "header(x-b)", "\x01");
  const auto text = rc::gen::resize(
      6, rc::gen::map(rc::gen::nonEmpty(rc::gen::container<std::vector<std::string>>(piece)),
                      [](const std::vector<std::string>& parts) {
                        std::string all;
                        for (const auto& s : parts) all += s;
                        return all;
                      }));
  EXPECT_TRUE(rc::check([&] {
    const std::string a1 = *text, b1 = *text, a2 = *text, b2 = *text;
    const std::string k1 = key_text(*p, {.fields = {{"X-A", a1}, {"X-B", b1}}});
    const std::string k2 = key_text(*p, {.fields = {{"X-A", a2}, {"X-B", b2}}});
    RC_ASSERT(k1.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789._-:#+()") ==
              std::string::npos);
    RC_ASSERT((k1 == k2) == (a1 == a2 && b1 == b2));
  }));
}

// A client that sends another's digest as its value must not become that other.
TEST(key, tells_text_from_digests) {
  const auto p = compiled(one(key_of({{{key_kind::header, "x-a", true}}})));
  const std::string victim = key_text(*p, {.fields = {{"X-A", "a b"}}});
  const std::string thief = key_text(*p, {.fields = {{"X-A", sha("a b").substr(1)}}});
  EXPECT_NE(victim, thief);
}

}  // namespace
}  // namespace penstock::policy
