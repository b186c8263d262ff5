// What a client reads: header values at their edges, bodies, languages, jitter.
#include <chrono>
#include <regex>

#include <rapidcheck.h>

#include "policy/negotiate.hpp"
#include "policy/policy_test_support.hpp"

namespace penstock::policy {
namespace {

using namespace test;
using namespace std::chrono_literals;

policy_spec one(quota q) {
  policy_spec spec;
  spec.limits.push_back(limit("l", key_of(key_kind::global), q));
  return spec;
}

std::string value_of(const decision& d, const std::string& name) {
  const std::string text = "\n" + d.headers;
  const std::size_t at = text.find("\n" + name + ": ");
  if (at == std::string::npos) return "absent";
  const std::size_t start = at + name.size() + 3;
  return text.substr(start, text.find('\r', start) - start);
}

struct policy_row {
  const char* name;
  quota q;
  const char* policy;
  const char* window;
};

// `q` units per `w` seconds must be true in the long run: more would invite refusals.
TEST(headers, advertise_what_a_quota_gives) {
  quota burst = per(10, 1s, algorithm::token_bucket);
  burst.burst = 20;
  quota odd = per(7, 1min, algorithm::token_bucket);
  odd.burst = 5;
  quota queue = per(10, 1s, algorithm::leaky_bucket);
  queue.queue = 20;
  const policy_row rows[] = {
      {"window", per(100, 1min), "\"l\";q=100;w=60", "60"},
      {"bucket", per(60, 1min, algorithm::token_bucket), "\"l\";q=60;w=60", "60"},
      {"bucket of two periods", burst, "\"l\";q=20;w=2", "1"},
      {"bucket that fills in part of a period", odd, "\"l\";q=5;w=43", "60"},
      {"queue", queue, "\"l\";q=21;w=3", "1"},
      {"below a second: w has no fractions", per(10, 100ms), "\"l\";q=10", "absent"},
      {"nothing at all", per(0, 1min), "\"l\";q=0;w=60", "60"},
      {"largest", per((std::int64_t{1} << 53) - 1, 1min), "\"l\";q=999999999999999;w=60", "60"},
  };
  for (const policy_row& r : rows) {
    const decision d = conclude(*compiled(one(r.q)), {}, {admitted(10, 5)});
    EXPECT_EQ(value_of(d, "RateLimit-Policy"), r.policy) << r.name;
    EXPECT_EQ(value_of(d, "X-RateLimit-Window"), r.window) << r.name;
  }
}

// A limit of several windows is several policies, and their names tell them apart.
TEST(headers, name_each_window_of_a_limit) {
  policy_spec spec = one(per(10, 1s));
  spec.limits[0].rate.quotas = {per(10, 1s), per(500, 1h), per(9000, 24h)};
  const decision d =
      conclude(*compiled(spec), {}, {admitted(10, 9), refused(500, 7s, 1h), refused(9000, 5s, 9h)});
  EXPECT_EQ(value_of(d, "RateLimit-Policy"),
            "\"l/1s\";q=10;w=1, \"l/1h\";q=500;w=3600, \"l/1d\";q=9000;w=86400");
  EXPECT_EQ(value_of(d, "RateLimit"), "\"l/1s\";r=9;t=0, \"l/1h\";r=0;t=7, \"l/1d\";r=0;t=5");
  EXPECT_EQ(d.body, "{\"error\":\"rate limit exceeded\",\"limit\":\"l\",\"retry_after\":7}\n");
}

// Ties go to the limit that stands first, so that a client sees one limit, not two in turn.
TEST(headers, report_the_first_of_equals) {
  policy_spec spec = one(per(10, 1s));
  spec.limits.push_back(limit("m", key_of(key_kind::global)));
  const auto p = compiled(spec);
  EXPECT_EQ(conclude(*p, {}, {admitted(10, 5), admitted(100, 5)}).reported, 0U);
  EXPECT_EQ(conclude(*p, {}, {admitted(10, 5), admitted(100, 4)}).reported, 1U);
  EXPECT_EQ(conclude(*p, {}, {refused(10, 5s, 5s), refused(100, 5s, 5s)}).reported, 0U);
  EXPECT_EQ(conclude(*p, {}, {admitted(10, 0), refused(100, 1us, 5s)}).reported, 1U);
  verdict never = refused(100, 0s, 5s);
  never.never = true;
  EXPECT_EQ(conclude(*p, {}, {refused(10, 1h, 5s), never}).reported, 1U);
  EXPECT_EQ(conclude(*p, {}, {never, refused(10, 1h, 5s)}).reported, 0U);
}

// Every figure is rounded so that a client that believes it passes.
TEST(headers, round_up_and_stay_within_structured_fields) {
  const auto p = compiled(one(per(10, 1s)));
  struct {
    duration wait;
    const char* want;
  } const rows[] = {{1us, "1"}, {1ms, "1"}, {1s, "1"}, {30s, "30"}, {30s + 1us, "31"}};
  const instant at{1'700'000'000s};
  for (const auto& r : rows) {
    const decision d = conclude(*p, {}, {refused(10, r.wait, r.wait)}, at);
    EXPECT_EQ(value_of(d, "Retry-After"), r.want);
    EXPECT_EQ(value_of(d, "X-RateLimit-Reset"), std::to_string(1'700'000'000 + std::stoi(r.want)));
  }
  const decision d = conclude(*p, {}, {admitted(INT64_MAX, INT64_MAX)}, at + 1us);
  EXPECT_EQ(value_of(d, "X-RateLimit-Limit"), "999999999999999");
  EXPECT_EQ(value_of(d, "RateLimit"), "\"l\";r=999999999999999;t=0");
  EXPECT_EQ(value_of(d, "X-RateLimit-Reset"), "1700000001");
}

// For any verdict the fields parse as structured fields, and Retry-After is never too early.
TEST(headers, are_well_formed_for_any_verdict) {
  policy_spec spec = one(per(10, 1s));
  spec.limits[0].retry_jitter = 5s;
  spec.limits.push_back(limit("m-2.x_y", key_of(key_kind::global)));
  const auto p = compiled(spec);
  const std::regex list(
      "\"[A-Za-z0-9._/-]+\";r=[0-9]{1,15};t=[0-9]{1,15}"
      "(, \"[A-Za-z0-9._/-]+\";r=[0-9]{1,15};t=[0-9]{1,15})*");
  const auto any_verdict = [](bool ok, std::int64_t remaining, std::uint32_t retry_ms) {
    const duration retry = std::chrono::milliseconds{retry_ms} + 1us;
    return ok ? admitted(10, remaining, retry, retry) : refused(10, retry, retry);
  };
  EXPECT_TRUE(rc::check([&](std::uint64_t jitter, bool ok1, bool ok2, std::int64_t remaining,
                            std::uint32_t ms1, std::uint32_t ms2) {
    const verdict a = any_verdict(ok1, remaining, ms1);
    const verdict b = any_verdict(ok2, remaining, ms2);
    const decision d = conclude(*p, {}, {a, b}, instant{1'700'000'000s}, jitter);
    RC_ASSERT(std::regex_match(value_of(d, "RateLimit"), list));
    if (d.what != outcome::deny) return;
    const duration wait =
        std::max(ok1 ? duration{} : a.retry_after, ok2 ? duration{} : b.retry_after);
    const std::int64_t told = std::stoll(value_of(d, "Retry-After"));
    RC_ASSERT(told >= 1);
    RC_ASSERT(duration{std::chrono::seconds{told}} >= wait);
    RC_ASSERT(duration{std::chrono::seconds{told}} < wait + 6s);
    RC_ASSERT(d.body.find("\"retry_after\":" + std::to_string(told) + "}") != std::string::npos);
  }));
}

// Operators may rename or drop each family.
TEST(headers, follow_the_configuration) {
  policy_spec spec = one(per(10, 1s));
  spec.responses.names = {"RL-Limit", "", "RL-Reset", ""};
  spec.responses.ietf = false;
  EXPECT_EQ(conclude(*compiled(spec), {}, {admitted(10, 5, 1s)}).headers,
            "RL-Limit: 10\r\nRL-Reset: 1700000001\r\n");
  spec.responses.on_success = false;
  EXPECT_EQ(conclude(*compiled(spec), {}, {admitted(10, 5, 1s)}).headers, "");
  EXPECT_EQ(value_of(conclude(*compiled(spec), {}, {refused(10, 1s, 1s)}), "RL-Limit"), "10");
}

// A queue's wait is the longest of all queues; a refusal waits for none.
TEST(conclude, delays_by_the_longest_queue) {
  policy_spec spec = one(per(10, 1s));
  spec.limits.push_back(limit("m", key_of(key_kind::global)));
  const auto p = compiled(spec);
  verdict slow = admitted(10, 5), slower = admitted(10, 5);
  slow.delay = 1s;
  slower.delay = 2s;
  const decision d = conclude(*p, {}, {slower, slow});
  EXPECT_EQ(d.what, outcome::delay);
  EXPECT_EQ(d.delay, duration{2s});
  EXPECT_EQ(conclude(*p, {}, {slower, refused(10, 1s, 1s)}).delay, duration{0});
}

// While the store is away, a charge may be counted by a smaller local counter of the same id.
TEST(conclude, names_a_limit_whose_counter_was_replaced) {
  const auto p = compiled(one(per(10, 1s)));
  request r;
  const request_view view = r.view();
  plan planned;
  p->make_plan(view, planned);
  counter share = *planned.charges.at(0).what;
  planned.charges[0].what = &share;
  const verdict v = refused(2, 1s, 1s);
  decision d;
  p->conclude(view, planned, {&v, 1}, {.decided_at = instant{}}, d);
  EXPECT_EQ(value_of(d, "RateLimit"), "\"l\";r=0;t=1");
}

// Deny because the store is away is 503 and soon over.
TEST(conclude, answers_503_when_the_store_is_unavailable) {
  const auto p = compiled(one(per(10, 1s)));
  request r;
  decision d;
  p->conclude_unavailable(r.view(), d);
  EXPECT_EQ(d.what, outcome::degraded_deny);
  EXPECT_EQ(d.status, 503);
  EXPECT_EQ(d.headers, "Retry-After: 1\r\nCache-Control: no-store\r\n");
}

// Templates are the operator's words in the reader's language.
TEST(refusal, fills_a_template_in_the_clients_language) {
  policy_spec spec = one(per(10, 1s));
  response_spec& r = spec.limits[0].response.emplace();
  r.status = 503;
  r.body = body_kind::text;
  r.content_type = "text/html; charset=utf-8";
  r.text = "<b>{limit}</b> {\"a\": {retry_after}, {other} of {quota}}";
  r.languages = {{"de", "{name}: {retry_after} s warten"}, {"pt-BR", "espere {retry_after}"}};
  const auto p = compiled(spec);
  const std::vector<verdict> v{refused(10, 3s, 5s)};
  decision d = conclude(*p, {}, v);
  EXPECT_EQ(d.status, 503);
  EXPECT_EQ(d.content_type, "text/html; charset=utf-8");
  EXPECT_EQ(d.body, "<b>l</b> {\"a\": 3, {other} of 10}");
  d = conclude(*p, {.fields = {{"Accept-Language", "fr, de-AT;q=0.8, pt;q=0.9"}}}, v);
  EXPECT_EQ(d.body, "l: 3 s warten");
  EXPECT_EQ(value_of(d, "Content-Language"), "de");
  d = conclude(*p, {.fields = {{"Accept-Language", "de;q=0.1, PT-br;q=0.2"}}}, v);
  EXPECT_EQ(d.body, "espere 3");
}

struct accept_row {
  const char* accept;
  bool problem;
};

// Problem details go to those who ask, JSON to all others.
TEST(negotiate, chooses_problem_json_by_accept) {
  const accept_row rows[] = {
      {"", false},
      {"*/*", false},
      {"application/json", false},
      {"application/problem+json", true},
      {"Application/Problem+JSON;charset=utf-8", true},
      {"application/json, application/problem+json", true},
      {"application/json;q=0.5, application/problem+json;q=0.6", true},
      {"application/json, application/problem+json;q=0.9", false},
      {"application/problem+json;q=0", false},
      {"application/problem+json;q=0.5, */*", false},
      {"application/problem+json;q=x", false},
      {"application/problem+json;q=1.001", false},
      {"application/problem+jsonx", false},
  };
  for (const accept_row& r : rows) {
    const field f{"accept", r.accept};
    EXPECT_EQ(prefers_problem_json({&f, 1}), r.problem) << r.accept;
  }
}

}  // namespace
}  // namespace penstock::policy
