// The parts that the importer stands on: values, locations as patterns, keys.
#include <gtest/gtest.h>

#include "import/nginx_key.hpp"
#include "import/nginx_values.hpp"
#include "import/paths.hpp"
#include "import/quota_of.hpp"

namespace penstock::import {
namespace {

std::string joined(const std::vector<std::string>& list) {
  std::string out;
  for (const auto& one : list) out += (out.empty() ? "" : " ") + one;
  return out;
}

// A range that is too wide exempts strangers.
TEST(NginxValues, SplitsRangesIntoTheFewestBlocks) {
  struct row {
    const char* text;
    const char* want;
  };
  const row rows[] = {
      {"10.0.0.0-10.0.0.255", "10.0.0.0/24"},
      {"10.0.0.0-10.0.2.255", "10.0.0.0/23 10.0.2.0/24"},
      {"10.0.0.1-10.0.0.4", "10.0.0.1 10.0.0.2/31 10.0.0.4"},
      {"192.0.2.7-192.0.2.7", "192.0.2.7"},
      {"0.0.0.0-255.255.255.255", "0.0.0.0/0"},
      {"255.255.255.254-255.255.255.255", "255.255.255.254/31"},
      {"10.0.0.2-10.0.0.1", ""},
      {"10.0.0.0/8", ""},
      {"::1-::2", ""},
  };
  for (const auto& r : rows) EXPECT_EQ(joined(split_range(r.text)), r.want) << r.text;
}

// nginx clears the bits behind a prefix with a warning; a policy refuses them.
TEST(NginxValues, WritesRangesAsPoliciesTakeThem) {
  EXPECT_EQ(parse_range("10.1.2.3/8"), "10.0.0.0/8");
  EXPECT_EQ(parse_range("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(parse_range("192.0.2.7/32"), "192.0.2.7");
  EXPECT_EQ(parse_range("2001:DB8::1/32"), "2001:db8::/32");
  EXPECT_EQ(parse_range("::ffff:10.0.0.0/104"), "10.0.0.0/8");
  for (const char* bad :
       {"", "example.com", "10.0.0.0/33", "10.0.0/8", "unix:", "::ffff:10.0.0.0/8"})
    EXPECT_FALSE(parse_range(bad)) << bad;
  EXPECT_TRUE(lies_in("10.1.0.0/16", "10.0.0.0/8"));
  EXPECT_FALSE(lies_in("10.0.0.0/8", "10.1.0.0/16"));
  EXPECT_FALSE(lies_in("::1", "0.0.0.0/0"));
}

// The name ends where nginx ends it, or two variables become one.
TEST(NginxValues, FindsVariables) {
  struct row {
    const char* text;
    const char* want;
  };
  const row rows[] = {{"$a", "<a>"},
                      {"$a$b", "<a><b>"},
                      {"${a}b-$c.d", "<a>b-<c>.d"},
                      {"$a_b:$c", "<a_b>:<c>"},
                      {"$", "$"},
                      {"a$-${b", "a$-${b"},
                      {"", ""}};
  for (const auto& r : rows) {
    std::string got;
    for (const auto& p : pieces_of(r.text)) got += p.variable ? "<" + p.text + ">" : p.text;
    EXPECT_EQ(got, r.want) << r.text;
  }
}

std::string shapes(const translated& t) {
  std::vector<std::string> out;
  for (const auto& s : t.shapes) out.push_back(s.text());
  return joined(out) + (t.differs.empty() ? "" : " (differs)");
}

// A pattern that is too narrow lets requests pass; one that is too wide is said to be.
TEST(NginxPaths, TranslatesLocations) {
  EXPECT_EQ(shapes(translate_path("/", false)), "/**");
  EXPECT_EQ(shapes(translate_path("/", true)), "/");
  EXPECT_EQ(shapes(translate_path("/api/", false)), "/api/**");
  EXPECT_EQ(shapes(translate_path("/api", false)), "/api/** (differs)");
  EXPECT_EQ(shapes(translate_path("/api", true)), "/api");
  EXPECT_EQ(shapes(translate_path("//a//b/", false)), "/a/b/**");
  EXPECT_EQ(shapes(translate_path("/a b*{c}%/", false)), "/a%20b%2A%7Bc%7D%25/**");
  EXPECT_EQ(shapes(translate_path("/a/../b/", false)), "");
  EXPECT_EQ(shapes(translate_path("api/", false)), "");

  struct row {
    const char* regex;
    const char* want;
  };
  const row rows[] = {
      {"^/api/", "/api/**"},
      {"^/api", "/api/** (differs)"},
      {"^/api(/|$)", "/api/**"},
      {"^/api(/.*)?$", "/api/**"},
      {"^/api/.*$", "/api/**"},
      {"^/api/(.*)", "/api/**"},
      {"^/api.*", "/api/** (differs)"},
      {"^/$", "/"},
      {"^/", "/**"},
      {"^/login$", "/login"},
      {"^/login/?$", "/login"},
      {"^/(login|register)$", "/login /register"},
      {"^/v(?:1|2)/(a|b\\.c)/", "/v1/a/** /v1/b.c/** /v2/a/** /v2/b.c/**"},
      {"^/users/[^/]+/export$", "/users/*/export"},
      {"^/users/([^/]+)/", "/users/*/**"},
      {"^/users/[0-9]+$", "/users/* (differs)"},
      {"^/users/\\d+/", "/users/*/** (differs)"},
      {"^/a\\.b\\-c/", "/a.b-c/**"},
      // what needs a real regular expression
      {"\\.php$", ""},
      {"/api/", ""},
      {"^/a.b/", ""},
      {"^/a+/", ""},
      {"^/a?/", ""},
      {"^/a{2}/", ""},
      {"^/x[^/]+/", ""},
      {"^/a|^/b", ""},
      {"^/(a|b)*/", ""},
      {"^/(a|[bc])/", ""},
      {"^/(?<id>a)/", ""},
      {"^/a\\w/", ""},
      {"^/a$b", ""},
      {"^/(a", ""},
      {"^", ""},
      {"", ""},
  };
  for (const auto& r : rows) EXPECT_EQ(shapes(translate_regex(r.regex, false)), r.want) << r.regex;
  EXPECT_EQ(shapes(translate_regex("^/api/", true)), "/api/** (differs)");
}

path_shape shape(const std::string& text) {
  return translate_path(text.ends_with("**") ? text.substr(0, text.size() - 2) : text,
                        !text.ends_with("**"))
      .shapes.at(0);
}

// Which limit a request belongs to hangs on this.
TEST(NginxPaths, KnowsWhatCoversWhat) {
  EXPECT_TRUE(covers(shape("/**"), shape("/a")));
  EXPECT_TRUE(covers(shape("/a/**"), shape("/a")));
  EXPECT_TRUE(covers(shape("/a/**"), shape("/a/b/**")));
  EXPECT_FALSE(covers(shape("/a"), shape("/a/**")));
  EXPECT_FALSE(covers(shape("/a/**"), shape("/b/**")));
  const path_shape any{{"a", "*"}, false};
  EXPECT_TRUE(covers(any, shape("/a/b")));
  EXPECT_FALSE(covers(shape("/a/b"), any));
  EXPECT_FALSE(covers(any, shape("/a/b/c")));
  EXPECT_TRUE(meet(any, shape("/a/b/**")));
  EXPECT_FALSE(meet(any, shape("/a")));
  EXPECT_FALSE(meet(shape("/a/**"), shape("/b/**")));
}

nginx_model with(std::map<std::string, variable_block> variables) {
  nginx_model m;
  m.variables = std::move(variables);
  return m;
}

// A key that is never empty in nginx must not be skipped here, and the other way round.
TEST(NginxKey, TranslatesVariables) {
  struct row {
    const char* key;
    const char* want;
    const char* on_missing;
  };
  const row rows[] = {
      {"$binary_remote_addr", "address", ""},
      {"$remote_addr", "address", ""},
      {"$realip_remote_addr", "address", ""},
      {"$http_x_api_key", "header(X-Api-Key)", "skip"},
      {"$arg_token", "query(token)", "skip"},
      {"$cookie_sid", "cookie(sid)", "skip"},
      {"$server_name", "global", ""},
      {"$host", "host", "shared"},
      {"$uri", "route", ""},
      {"all", "global", ""},
      {"$binary_remote_addr$http_a", "address + header(A) | address", ""},
      {"$http_a$http_b", "header(A) + header(B) | header(A) | header(B)", "skip"},
      {"$http_a:$http_b", "header(A) + header(B) | header(A) | header(B)", "shared"},
      {"$server_name$arg_x", "query(x)", "shared"},
      {"$binary_remote_addr$binary_remote_addr", "address", ""},
      {"$request_method $binary_remote_addr", "method + address", ""},
  };
  const nginx_model none;
  for (const auto& r : rows) {
    const auto key = import_key(none, r.key, false);
    EXPECT_TRUE(key.usable) << r.key << ": " << key.why_not;
    EXPECT_EQ(key.expression, r.want) << r.key;
    EXPECT_EQ(key.on_missing_key, r.on_missing) << r.key;
  }
  // A server without a name has an empty $server_name.
  EXPECT_TRUE(import_key(none, "$server_name", false).empty_without_name);
  EXPECT_FALSE(import_key(none, "$server_name:", false).empty_without_name);
  EXPECT_EQ(import_key(none, "$server_name$arg_x", false).on_missing_without_name, "skip");
  for (const char* unusable :
       {"$geoip_city", "$http_a$http_b$http_c$http_d", "", "$arg_", "$request_id"})
    EXPECT_FALSE(import_key(none, unusable, false).usable) << unusable;
  EXPECT_FALSE(import_key(none, "$realip_remote_addr", true).usable);
}

// Maps that go round in a circle, and maps that nothing can follow.
TEST(NginxKey, GivesUpOnWhatItCannotFollow) {
  variable_block circle;
  circle.source = "$b";
  circle.fallback = "x";
  variable_block back;
  back.source = "$a";
  back.fallback = "$a";
  variable_block itself;
  itself.source = "$http_x";
  itself.fallback = "$http_x";
  itself.cases = {{"", "$itself", {}}};
  const auto model = with({{"a", circle}, {"b", back}, {"itself", itself}});
  EXPECT_FALSE(import_key(model, "$a", false).usable);
  EXPECT_FALSE(import_key(model, "$a$remote_addr", false).usable);
  const auto key = import_key(model, "$itself", false);
  EXPECT_EQ(key.expression, "header(X)");
  EXPECT_EQ(key.differs.size(), 1U);
}

// burst + 1 at once, whatever the spelling of "without delay".
TEST(NginxQuota, IsABucketOrAQueue) {
  const zone z{.count = 10};
  EXPECT_EQ(quota_of(z, {.burst = 5, .nodelay = true}).burst, 6);
  EXPECT_EQ(quota_of(z, {.burst = 5, .delay = 5}).burst, 6);
  EXPECT_EQ(quota_of(z, {}).burst, 1);
  const auto queue = quota_of(z, {.burst = 5, .delay = 2});
  EXPECT_EQ(queue.kind, algorithm::leaky_bucket);
  EXPECT_EQ(queue.queue, 5);
  EXPECT_EQ(queue.undelayed, 2);
  EXPECT_EQ(rate_difference({.count = 30, .per_minute = true}), "");
  EXPECT_EQ(rate_difference({.count = 7}), "");
  EXPECT_EQ(rate_difference({.count = 1, .per_minute = true}),
            "nginx rounds 1r/m down to 16/1000 a second, which is 0.96 a minute; here it is 1");
}

}  // namespace
}  // namespace penstock::import
