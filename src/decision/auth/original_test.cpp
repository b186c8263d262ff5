#include "decision/auth/original.hpp"

#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::decision {
namespace {

using state = original_request::state;

struct row {
  const char* name;
  std::string_view method, path, query;
  std::vector<field> fields;
  original_source from;
  state what;
  const char* expected;  // "METHOD host path?query"
};

std::string text_of(const original_request& r) {
  if (r.what != state::known) return "";
  std::string out(r.method);
  out.append(" ").append(r.host).append(" ").append(r.path).append("?").append(r.query);
  return out;
}

net::http1::request_head head_of(const row& r) {
  net::http1::request_head h;
  h.method = r.method;
  h.path = r.path;
  h.query = r.query;
  h.authority = "check";
  h.fields = r.fields;
  return h;
}

constexpr auto any = original_source::any;
constexpr auto x_orig = original_source::x_original;
constexpr auto x_fwd = original_source::x_forwarded;

// Each proxy is understood as it speaks, and a field that a client added decides nothing: it is
// overlooked, or the request is refused.
TEST(Original, IsWhatTheProxySaysAndNotWhatItsClientSays) {
  const row rows[] = {
      // clang-format off
      {"nginx", "GET", "/v1/auth", "deny=403", {{"X-Original-URI", "/api/x?y=1"}, {"X-Original-Method", "POST"}, {"X-Original-Host", "a.example"}}, any, state::known, "POST a.example /api/x?y=1"},
      {"traefik, caddy", "GET", "/v1/auth", "", {{"X-Forwarded-Method", "PUT"}, {"X-Forwarded-Uri", "/v1"}, {"X-Forwarded-Host", "a.example"}}, any, state::known, "PUT a.example /v1?"},
      {"envoy", "DELETE", "/v1/auth/v1/z", "deny=200", {}, any, state::known, "DELETE check /v1/z?deny=200"},
      {"envoy, the root", "GET", "/v1/auth/", "", {}, any, state::known, "GET check /?"},
      {"ingress-nginx", "GET", "/v1/auth", "", {{"X-Original-URL", "https://a.example/b?c"}, {"X-Original-Method", "GET"}}, any, state::known, "GET a.example /b?c"},
      {"no method named", "POST", "/v1/auth", "", {{"X-Original-URI", "/"}}, any, state::known, "POST check /?"},
      {"a HEAD check asks for no body", "HEAD", "/v1/auth", "", {{"X-Original-URI", "/"}}, any, state::known, "GET check /?"},
      {"the whole server", "GET", "/v1/auth", "", {{"X-Original-URI", "*"}, {"X-Original-Method", "OPTIONS"}}, any, state::known, "OPTIONS check *?"},
      {"haproxy without fields", "HEAD", "/v1/auth", "", {}, any, state::misconfigured, ""},
      {"only the other family", "GET", "/v1/auth", "", {{"X-Forwarded-Uri", "/"}}, x_orig, state::misconfigured, ""},
      {"forged behind nginx", "GET", "/v1/auth", "", {{"X-Original-URI", "/login"}, {"X-Original-Method", "POST"}, {"X-Forwarded-Uri", "/free"}, {"X-Forwarded-Method", "GET"}, {"X-Forwarded-Host", "b"}}, x_orig, state::known, "POST check /login?"},
      {"forged behind traefik", "GET", "/v1/auth", "", {{"X-Original-URI", "/free"}, {"X-Forwarded-Uri", "/login"}, {"X-Forwarded-Method", "POST"}}, x_fwd, state::known, "POST check /login?"},
      {"forged behind envoy", "POST", "/v1/auth/login", "", {{"X-Original-URI", "/free"}, {"X-Forwarded-Uri", "/free"}, {"X-Original-Method", "GET"}}, any, state::known, "POST check /login?"},
      {"two URIs that differ", "GET", "/v1/auth", "", {{"X-Original-URI", "/a"}, {"X-Forwarded-Uri", "/b"}}, any, state::ambiguous, ""},
      {"two methods that differ", "GET", "/v1/auth", "", {{"X-Original-URI", "/a"}, {"X-Original-Method", "GET"}, {"X-Forwarded-Uri", "/a"}, {"X-Forwarded-Method", "PUT"}}, any, state::ambiguous, ""},
      {"two families that agree", "GET", "/v1/auth", "", {{"X-Original-URI", "/a"}, {"X-Forwarded-Uri", "/a"}}, any, state::known, "GET check /a?"},
      {"a URI twice", "GET", "/v1/auth", "", {{"X-Original-URI", "/a"}, {"X-Original-URI", "/a"}}, any, state::ambiguous, ""},
      {"a URI twice, one empty", "GET", "/v1/auth", "", {{"X-Original-URI", ""}, {"X-Original-URI", "/a"}}, any, state::ambiguous, ""},
      {"a fragment", "GET", "/v1/auth", "", {{"X-Original-URI", "/login#x"}}, any, state::ambiguous, ""},
      {"no path", "GET", "/v1/auth", "", {{"X-Original-URI", "login"}}, any, state::ambiguous, ""},
      {"a method that is none", "GET", "/v1/auth", "", {{"X-Original-URI", "/"}, {"X-Original-Method", "G T"}}, any, state::ambiguous, ""},
      // clang-format on
  };
  for (const auto& r : rows) {
    const auto head = head_of(r);
    const auto got = find_original(head, r.from, true);
    EXPECT_EQ(got.what, r.what) << r.name << ": " << got.reason;
    EXPECT_EQ(text_of(got), r.expected) << r.name;
  }
}

// Whatever a client adds of the family that the proxy does not speak, in whatever order, number and
// case: nothing changes. 20,000 random sets of fields, the same in every run.
TEST(Original, WhatAClientAddsChangesNothing) {
  constexpr std::string_view originals[] = {"X-Original-URI", "x-original-url", "X-ORIGINAL-METHOD",
                                            "X-Original-Host"};
  constexpr std::string_view forwardeds[] = {"X-Forwarded-Uri", "x-forwarded-method",
                                             "X-FORWARDED-HOST"};
  constexpr std::string_view values[] = {"", "/", "/free", "*", "GET", "http://b/", "a#b", "%zz"};
  std::mt19937 random(20261130);  // NOLINT: repeatable
  const auto pick = [&](const auto& from) { return from[random() % std::size(from)]; };
  for (int i = 0; i < 20'000; ++i) {
    const bool forwarded = random() % 2 == 0;
    const original_source said = forwarded ? x_fwd : x_orig;
    row r{"", "GET", "/v1/auth", "", {}, said, state::known, ""};
    for (auto n = random() % 4; n > 0; --n) {
      r.fields.push_back({forwarded ? pick(forwardeds) : pick(originals), pick(values)});
    }
    const auto plain_head = head_of(r);
    const auto plain = find_original(plain_head, said, true);
    for (auto n = random() % 5; n > 0; --n) {
      const auto at =
          r.fields.begin() + static_cast<std::ptrdiff_t>(random() % (r.fields.size() + 1));
      r.fields.insert(at, {forwarded ? pick(originals) : pick(forwardeds), pick(values)});
    }
    const auto forged_head = head_of(r);
    const auto forged = find_original(forged_head, said, true);
    ASSERT_EQ(forged.what, plain.what) << "case " << i;
    ASSERT_EQ(text_of(forged), text_of(plain)) << "case " << i;
  }
}

// On a listener that anybody reaches the fields say nothing; a request line is the peer's own.
TEST(Original, FieldsCountOnlyWhereTheyAreBelieved) {
  const row named{"", "GET", "/v1/auth", "", {{"X-Original-URI", "/a"}}, any, state::known, ""};
  EXPECT_EQ(find_original(head_of(named), any, false).what, state::misconfigured);
  const row line{"", "GET", "/v1/auth/b", "", {{"X-Original-URI", "/a"}}, any, state::known, ""};
  const auto head = head_of(line);
  EXPECT_EQ(text_of(find_original(head, any, false)), "GET check /b?");
}

// A misspelt parameter must not silently leave a proxy with another behaviour.
TEST(AuthParameters, AreFewAndStrict) {
  auth_parameters p;
  EXPECT_EQ(parse_auth_parameters("", p), nullptr);
  EXPECT_EQ(p.deny_status, 0);
  EXPECT_EQ(parse_auth_parameters("deny=403&original=x-forwarded", p), nullptr);
  EXPECT_EQ(p.deny_status, 403);
  EXPECT_EQ(p.from, original_source::x_forwarded);
  for (const char* bad :
       {"deny=", "deny=200", "deny=500", "deny=403x", "dney=403", "original=all"}) {
    EXPECT_NE(parse_auth_parameters(bad, p), nullptr) << bad;
  }
}

}  // namespace
}  // namespace penstock::decision
