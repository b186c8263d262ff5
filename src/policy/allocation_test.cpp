// The request path must not allocate once warm: this program counts every operator new.
#include <chrono>

#include "base/counted_new_test_support.hpp"
#include "policy/policy_test_support.hpp"

namespace penstock::policy {
namespace {

using namespace test;
using namespace std::chrono_literals;

std::size_t warm_allocations(const compiled_policy& p, request r,
                             const std::vector<verdict>& verdicts) {
  const request_view view = r.view();
  plan planned;
  decision out;
  std::size_t before = 0;
  for (int round = 0; round < 3; ++round) {
    before = allocations;
    p.make_plan(view, planned);
    p.conclude(view, planned, verdicts, {.decided_at = instant{1s}}, out);
  }
  return allocations - before;
}

// Allowed, refused, and with every kind of key: the cost of a request must stay flat.
TEST(request_path, allocates_nothing_when_warm) {
  policy_spec spec;
  spec.identity.api_key = api_key_spec{identity_source::header, "X-API-Key", ""};
  spec.client.trusted_proxies = {"10.0.0.0/8"};
  spec.limits.push_back(limit("a", key_of(key_kind::address)));
  spec.limits.push_back(limit("b", key_of(key_kind::api_key)));
  spec.limits.push_back(limit("c", key_of({{{key_kind::route, ""}, {key_kind::host, ""}}})));
  spec.limits.push_back(limit("d", key_of(key_kind::query, "id")));
  spec.limits.push_back(limit("e", key_of(key_kind::cookie, "sid")));
  const auto p = compiled(spec);
  const request r{
      .path = "/a/%62/../c%2b;x/",
      .query = "x=1&id=a%20b%20a%20long%20value%20that%20does%20not%20fit%20inside%20a%20string",
      .fields = {{"X-Forwarded-For", "1.2.3.4, 203.0.113.9, 10.0.0.2"},
                 {"X-API-Key", "key"},
                 {"Cookie", "sid=0123456789"},
                 {"Accept", "application/problem+json"}},
      .peer = "10.0.0.1"};
  EXPECT_EQ(warm_allocations(*p, r, std::vector(5, admitted(100, 5, 1s, 1s))), 0U);
  EXPECT_EQ(warm_allocations(*p, r, std::vector(5, refused(100, 5s, 10s))), 0U);
}

}  // namespace
}  // namespace penstock::policy
