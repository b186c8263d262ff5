// Exemptions, block list, plans, costs, modes, failures and bans.
#include <chrono>

#include "base/sha256.hpp"
#include "policy/policy_test_support.hpp"

namespace penstock::policy {
namespace {

using namespace test;
using namespace std::chrono_literals;
using strings = std::vector<std::string>;

std::string sha(std::string_view text) {
  std::string out;
  append_hex(out, sha256(text));
  return out;
}

policy_spec base() {
  policy_spec spec;
  spec.client.trusted_proxies = {"10.0.0.0/8"};
  spec.identity.api_key = api_key_spec{identity_source::header, "X-API-Key", ""};
  spec.limits.push_back(limit("all", key_of(key_kind::global)));
  return spec;
}

planned planned_for(const policy_spec& spec, request r) {
  plan out;
  make_plan(*compiled(spec), r, out);
  return out.what;
}

// An exemption that is too wide is a limit that does not exist.
TEST(exempt, applies_when_all_criteria_of_an_entry_hold) {
  policy_spec spec = base();
  spec.exempt.resize(3);
  spec.exempt[0].addresses = {"192.0.2.0/24"};
  spec.exempt[1].header_name = "X-Internal-Token";
  spec.exempt[1].header_sha256 = sha("secret");
  spec.exempt[2].api_keys_sha256 = {sha("gold")};
  spec.exempt[2].path = "/reports/**";
  EXPECT_EQ(planned_for(spec, {}), planned::check);
  EXPECT_EQ(planned_for(spec, {.peer = "192.0.2.7"}), planned::exempt);
  EXPECT_EQ(planned_for(spec, {.fields = {{"x-internal-token", "secret"}}}), planned::exempt);
  EXPECT_EQ(planned_for(spec, {.fields = {{"x-internal-token", "secre"}}}), planned::check);
  EXPECT_EQ(
      planned_for(spec, {.fields = {{"x-internal-token", "secret"}, {"x-internal-token", "x"}}}),
      planned::check);
  EXPECT_EQ(planned_for(spec, {.path = "/reports/1", .fields = {{"X-API-Key", "gold"}}}),
            planned::exempt);
  EXPECT_EQ(planned_for(spec, {.path = "/other", .fields = {{"X-API-Key", "gold"}}}),
            planned::check);
  EXPECT_EQ(planned_for(spec, {.path = "/reports/1"}), planned::check);
  // The exempt address is the client's, also behind a proxy.
  EXPECT_EQ(planned_for(spec, {.fields = {{"X-Forwarded-For", "192.0.2.7"}}, .peer = "10.0.0.1"}),
            planned::exempt);
}

// Block list first: a blocked client is not saved by an exemption, nor told a limit.
TEST(block, comes_before_exemptions) {
  policy_spec spec = base();
  spec.block = {"198.51.100.0/24"};
  spec.exempt.emplace_back().addresses = {"198.51.100.7"};
  EXPECT_EQ(planned_for(spec, {.peer = "198.51.100.7"}), planned::blocked);
  const decision d = conclude(*compiled(spec), {.peer = "198.51.100.7"}, {});
  EXPECT_EQ(d.what, outcome::deny);
  EXPECT_EQ(d.status, 403);
  EXPECT_EQ(d.headers, "Cache-Control: no-store\r\n");
}

// An ambiguous path is refused before anything is counted.
TEST(plan, refuses_an_ambiguous_path) {
  const decision d = conclude(*compiled(base()), {.path = "/a%2Fb"}, {});
  EXPECT_EQ(d.what, outcome::deny);
  EXPECT_EQ(d.status, 400);
  EXPECT_EQ(d.body, "{\"error\":\"bad request\",\"reason\":\"the path has an encoded slash\"}\n");
  EXPECT_EQ(d.headers, "");
  request r{.path = "/a/b%2Fc"};
  plan out;
  make_plan(*compiled(base()), r, out);
  EXPECT_EQ(out.path, "");  // no part of it is shown as what was matched
}

// What is forwarded is what was matched.
TEST(plan, hands_on_the_canonical_path) {
  request r{.path = "//a/./b%41;x/"};
  plan out;
  make_plan(*compiled(base()), r, out);
  EXPECT_EQ(out.path, "/a/bA/");
}

// Matching by method and host, and the shape of a policy with several windows.
TEST(plan, selects_by_method_and_host) {
  policy_spec spec = base();
  spec.limits[0].match = {.methods = {"POST", "PUT"}, .hosts = {"*.example.com"}, .path = ""};
  EXPECT_EQ(charged(*compiled(spec), {.method = "GET"}), (strings{}));
  EXPECT_EQ(charged(*compiled(spec), {.method = "PUT"}), (strings{"all:fw:60000000 *"}));
  EXPECT_EQ(charged(*compiled(spec), {.method = "put"}), (strings{}));
  EXPECT_EQ(charged(*compiled(spec), {.method = "PUT", .host = "example.com"}), (strings{}));
  spec.limits[0].match = {};
  spec.limits[0].rate.quotas = {per(10, 1s), per(500, 1h)};
  EXPECT_EQ(charged(*compiled(spec), {}), (strings{"all:fw:1000000 *", "all:fw:3600000000 *"}));
}

// One limit, many plans: the counter's id stays, so an upgrade keeps what was used.
TEST(plan, picks_the_rate_of_the_clients_plan) {
  policy_spec spec = base();
  spec.plans["free"] = {.quotas = {per(60, 1min)}};
  spec.plans["premium"] = {.quotas = {per(300, 1min)}};
  spec.plans["staff"].unlimited = true;
  spec.limits[0].plan = plan_reference{key_kind::api_key, "plans.csv", "free"};
  const auto p =
      compiled(spec, {{}, {{sha("p1"), "premium"}, {sha("s1"), "staff"}, {"bob", "premium"}}});
  const auto capacity = [&](request r) -> std::int64_t {
    plan out;
    make_plan(*p, r, out);
    EXPECT_LE(out.charges.size(), 1U);
    if (out.charges.empty()) return -1;
    EXPECT_EQ(out.charges[0].what->id, "all:fw:60000000");
    return out.charges[0].what->quota.capacity;
  };
  EXPECT_EQ(capacity({}), 60);
  EXPECT_EQ(capacity({.fields = {{"X-API-Key", "p1"}}}), 300);
  EXPECT_EQ(capacity({.fields = {{"X-API-Key", "other"}}}), 60);
  EXPECT_EQ(capacity({.fields = {{"X-API-Key", "s1"}}}), -1);
}

// A cost header is believed only from a proxy of ours.
TEST(plan, takes_the_cost_from_a_trusted_peer) {
  policy_spec spec = base();
  spec.limits[0].cost = {.constant = 2, .header = "X-Cost"};
  const auto p = compiled(spec);
  const auto cost = [&](const char* value, const char* peer) {
    request r{.fields = {{"X-Cost", value}}, .peer = peer};
    plan out;
    make_plan(*p, r, out);
    return out.charges.at(0).cost;
  };
  EXPECT_EQ(cost("7", "10.0.0.1"), 7);
  EXPECT_EQ(cost("0", "10.0.0.1"), 0);
  EXPECT_EQ(cost("7", "203.0.113.9"), 2);
  for (const char* bad : {"", "-1", "1.5", "7x", "+7", " 7"})
    EXPECT_EQ(cost(bad, "10.0.0.1"), 2) << bad;
  EXPECT_EQ(cost("99999999999999999999", "10.0.0.1"), (std::int64_t{1} << 53) - 1);
  EXPECT_EQ(cost("-99999999999999999999", "10.0.0.1"), 2);
  EXPECT_EQ(std::vector(p->untrusted_fields().begin(), p->untrusted_fields().end()),
            (strings{"x-cost"}));
}

// Only failed logins count, but a full count refuses before the next try.
TEST(plan, checks_now_and_charges_failures_later) {
  policy_spec spec = base();
  spec.limits.push_back(limit("failed", key_of(key_kind::address)));
  spec.limits[1].count_statuses = {401, 403};
  const auto p = compiled(spec);
  request r;
  plan out;
  make_plan(*p, r, out);
  ASSERT_EQ(out.charges.size(), 2U);
  EXPECT_FALSE(out.charges[0].only_check);
  EXPECT_TRUE(out.charges[1].only_check);
  std::vector<charge> later;
  failures_to_charge(out, *p, 200, later);
  EXPECT_TRUE(later.empty());
  failures_to_charge(out, *p, 401, later);
  ASSERT_EQ(later.size(), 1U);
  EXPECT_FALSE(later[0].only_check);
  EXPECT_EQ(later[0].key, "address:203.0.113.9");
}

// A limit that is off keeps its index, so that telemetry names the right one.
TEST(modes, keep_the_index_of_a_limit_that_is_off) {
  policy_spec spec = base();
  spec.limits.insert(spec.limits.begin(), limit("off", key_of(key_kind::global)));
  spec.limits[0].mode = limit_mode::off;
  const auto p = compiled(spec);
  request r;
  plan out;
  make_plan(*p, r, out);
  EXPECT_EQ(out.limit_of, (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(p->limits()[1].name, "all");
}

// The global switch lets a whole policy be tried on live traffic.
TEST(modes, shadow_everything_on_demand) {
  policy_spec spec = base();
  spec.shadow_all = true;
  spec.responses.shadow_header = true;
  const auto p = compiled(spec);
  EXPECT_TRUE(p->limits()[0].shadow);
  const decision d = conclude(*p, {}, {refused(100, 1s, 30s)});
  EXPECT_EQ(d.what, outcome::allow);
  EXPECT_EQ(d.headers, "X-RateLimit-Shadow: all\r\n");
}

// Bans are kept elsewhere; the counter and the answer are the policy's.
TEST(bans, have_a_counter_and_an_answer) {
  policy_spec spec = base();
  spec.limits[0].ban = ban_spec{.after = 20, .within = 1min, .lasts = 10min};
  const auto p = compiled(spec);
  ASSERT_NE(p->limits()[0].ban_counter, nullptr);
  EXPECT_EQ(p->limits()[0].ban_counter->id, "all:ban:sl:60000000");
  EXPECT_EQ(p->limits()[0].ban_counter->quota.capacity, 20);
  decision d;
  request r;
  p->conclude_banned(r.view(), 0, 9min, d);
  EXPECT_EQ(d.what, outcome::deny);
  EXPECT_EQ(d.headers, "Retry-After: 540\r\nCache-Control: no-store\r\n");
}

// Every mistake is refused with the limit's name in the message.
TEST(compile, names_what_is_wrong) {
  const auto with = [](auto change) {
    policy_spec spec = base();
    change(spec);
    return why_not(spec);
  };
  EXPECT_EQ(with([](policy_spec&) {}), "");
  const std::string twice = with([](policy_spec& s) { s.limits.push_back(s.limits[0]); });
  EXPECT_EQ(twice, "limit 'all': there are two of this name");
  const std::string windows = with([](policy_spec& s) {
    s.limits[0].rate.quotas = {per(1, 1s), per(2, 1s)};
  });
  EXPECT_EQ(windows, "limit 'all': has two windows of the same algorithm and period");
  for (const auto& message : {
           with([](policy_spec& s) { s.limits[0].name = "a b"; }),
           with([](policy_spec& s) { s.limits[0].name = ""; }),
           with([](policy_spec& s) { s.limits[0].rate.quotas.clear(); }),
           with([](policy_spec& s) { s.limits[0].rate.quotas[0].period = {}; }),
           with([](policy_spec& s) { s.limits[0].key.alternatives.clear(); }),
           with([](policy_spec& s) { s.limits[0].key = key_of(key_kind::header); }),
           with([](policy_spec& s) { s.limits[0].match.path = "a"; }),
           with([](policy_spec& s) { s.limits[0].match.methods = {"GE T"}; }),
           with([](policy_spec& s) { s.limits[0].match.hosts = {"a.*.b"}; }),
           with([](policy_spec& s) {
             s.limits[0].plan = plan_reference{key_kind::api_key, "", "none"};
           }),
           with([](policy_spec& s) { s.limits[0].response.emplace().status = 200; }),
           with([](policy_spec& s) { s.limits[0].response.emplace().content_type = "a\r\nb"; }),
           with([](policy_spec& s) { s.limits[0].ban = ban_spec{}; }),
           with([](policy_spec& s) { s.limits[0].cost.constant = -1; }),
       }) {
    EXPECT_TRUE(message.starts_with("limit '")) << message;
  }
  EXPECT_NE(with([](policy_spec& s) { s.client.trusted_proxies = {"10.0.0.0/40"}; }), "");
  EXPECT_NE(with([](policy_spec& s) { s.client.ipv6_prefix = 129; }), "");
  EXPECT_NE(with([](policy_spec& s) { s.exempt.emplace_back(); }), "");
  EXPECT_NE(with([](policy_spec& s) { s.responses.names.limit = "a b"; }), "");
}

}  // namespace
}  // namespace penstock::policy
