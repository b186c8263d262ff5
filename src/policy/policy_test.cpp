// The whole of a policy: compile, plan, conclude.
#include "policy/policy.hpp"

#include <chrono>

#include "policy/policy_test_support.hpp"

namespace penstock::policy {
namespace {

using namespace test;
using namespace std::chrono_literals;
using strings = std::vector<std::string>;

policy_spec three_limits() {
  policy_spec spec;
  spec.limits.push_back(limit("permin", key_of(key_kind::address), per(100, 1min)));
  spec.limits.push_back(limit("perday", key_of(key_kind::header, "X-Tenant"), per(5000, 24h)));
  spec.limits.push_back(limit("login", key_of(key_kind::global), per(5, 1min)));
  spec.limits.back().match.path = "/login";
  return spec;
}

// The order of limits in the file is the order of ties, headers and telemetry.
TEST(plan, charges_every_matching_limit_in_file_order) {
  const auto p = compiled(three_limits());
  request r{.path = "/login", .fields = {{"x-tenant", "acme"}}};
  EXPECT_EQ(charged(*p, r),
            (strings{"permin:fw:60000000 address:203.0.113.9",
                     "perday:fw:86400000000 header(x-tenant)#"
                     "822b33ad87c148a0a20a5ba7cd5ebcaa68d36a18e7aad165554903f52ca82757",
                     "login:fw:60000000 *"}));
  r.path = "/";
  r.fields.clear();
  EXPECT_EQ(charged(*p, r), (strings{"permin:fw:60000000 address:203.0.113.9"}));
}

// "Everything but the health check" is one limit, not one for each other path.
TEST(plan, leaves_out_the_excepted_paths) {
  policy_spec spec;
  spec.limits.push_back(limit("api", key_of(key_kind::global), per(5, 1min)));
  spec.limits.back().match.path = "/api/**";
  spec.limits.back().match.except = {"/api/health", "/api/{tenant}/static/**"};
  const auto p = compiled(spec);
  const strings counted{"api:fw:60000000 *"};
  struct row {
    std::string path;
    strings want;
  };
  const row rows[] = {
      {"/api", counted},        {"/api/health/x", counted},   {"/api/a/b/static", counted},
      {"/api/health", {}},      {"/api/./health/", {}},       {"/api/%68ealth;a=b", {}},
      {"/api/acme/static", {}}, {"/api/acme/static/a/b", {}}, {"/other", {}},
  };
  for (const row& at : rows) {
    request r{.path = at.path};
    EXPECT_EQ(charged(*p, r), at.want) << at.path;
  }
  spec.limits.back().match.except = {"api"};
  EXPECT_EQ(why_not(spec), "limit 'api': path pattern 'api': starts with a slash");
}

// The worked example of the header drafts: same state, both families.
TEST(conclude, writes_both_header_families_on_success) {
  const auto p = compiled(three_limits());
  const decision d = conclude(*p, {.fields = {{"X-Tenant", "acme"}}},
                              {admitted(100, 50, 30s, 30s), admitted(5000, 4000, 36000s, 36000s)});
  EXPECT_EQ(d.what, outcome::allow);
  EXPECT_EQ(d.reported, 0U);
  EXPECT_EQ(d.headers,
            "X-RateLimit-Limit: 100\r\n"
            "X-RateLimit-Remaining: 50\r\n"
            "X-RateLimit-Reset: 1700000030\r\n"
            "X-RateLimit-Window: 60\r\n"
            "RateLimit-Policy: \"permin\";q=100;w=60, \"perday\";q=5000;w=86400\r\n"
            "RateLimit: \"permin\";r=50;t=30, \"perday\";r=4000;t=36000\r\n");
  EXPECT_EQ(d.body, "");
}

// The longest wait is the one after which the request passes all limits.
TEST(conclude, reports_the_longest_wait_of_the_refusing_limits) {
  const auto p = compiled(three_limits());
  const decision d = conclude(*p, {.fields = {{"X-Tenant", "acme"}}},
                              {refused(100, 11'000'001us, 30s), refused(5000, 1s, 36000s)});
  EXPECT_EQ(d.what, outcome::deny);
  EXPECT_EQ(d.status, 429);
  EXPECT_EQ(d.reported, 0U);
  EXPECT_EQ(d.content_type, "application/json");
  EXPECT_EQ(d.body,
            "{\"error\":\"rate limit exceeded\",\"limit\":\"permin\",\"retry_after\":12}\n");
  EXPECT_EQ(d.headers,
            "X-RateLimit-Limit: 100\r\n"
            "X-RateLimit-Remaining: 0\r\n"
            "X-RateLimit-Reset: 1700000030\r\n"
            "X-RateLimit-Window: 60\r\n"
            "RateLimit-Policy: \"permin\";q=100;w=60, \"perday\";q=5000;w=86400\r\n"
            "RateLimit: \"permin\";r=0;t=12, \"perday\";r=0;t=1\r\n"
            "Retry-After: 12\r\n"
            "Cache-Control: no-store\r\n");
}

// Clients that ask for problem details get exactly the registered type and member.
TEST(conclude, answers_with_problem_json_when_the_client_accepts_it) {
  const auto p = compiled(three_limits());
  const decision d =
      conclude(*p, {.fields = {{"Accept", "application/problem+json, application/json;q=0.9"}}},
               {refused(100, 12s, 30s)});
  EXPECT_EQ(d.content_type, "application/problem+json");
  EXPECT_EQ(d.body,
            "{\"type\":\"https://iana.org/assignments/http-problem-types#quota-exceeded\","
            "\"title\":\"Quota Exceeded\",\"status\":429,\"violated-policies\":[\"permin\"],"
            "\"limit\":\"permin\",\"retry_after\":12}\n");
}

// A cost that can never fit must not send the client into a loop of retries.
TEST(conclude, tells_no_wait_when_none_helps) {
  const auto p = compiled(three_limits());
  const decision d =
      conclude(*p, {}, {{.admitted = false, .never = true, .limit = 100, .remaining = 100}});
  EXPECT_EQ(d.headers.find("Retry-After"), std::string::npos);
  EXPECT_EQ(d.body,
            "{\"error\":\"rate limit exceeded\",\"limit\":\"permin\","
            "\"reason\":\"cost_exceeds_limit\"}\n");
}

// Shadow limits are reported to nobody but the operator.
TEST(conclude, lets_a_shadow_limit_refuse_nothing) {
  policy_spec spec = three_limits();
  spec.limits[0].mode = limit_mode::shadow;
  const auto p = compiled(spec);
  const decision d = conclude(*p, {}, {refused(100, 1s, 30s)});
  EXPECT_EQ(d.what, outcome::allow);
  EXPECT_TRUE(d.shadow_refused);
  EXPECT_EQ(d.reported, decision::no_limit);
  EXPECT_EQ(d.headers, "");
}

}  // namespace
}  // namespace penstock::policy
