// The cost of the pure part of a decision: plan and conclude, without a store.
#include <chrono>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "policy/policy.hpp"

namespace penstock::policy {
namespace {

using namespace std::chrono_literals;

limit_spec limit(std::string name, key_kind key, std::string path = {}) {
  limit_spec l;
  l.name = std::move(name);
  l.key = {{{{key, "", false}}}, "as written"};
  l.match.path = std::move(path);
  l.rate.quotas = {{.kind = algorithm::token_bucket, .count = 100, .period = 1min}};
  return l;
}

std::shared_ptr<const compiled_policy> policy_with(int matching, int others) {
  policy_spec spec;
  for (int i = 0; i < matching; ++i) {
    spec.limits.push_back(limit("limit" + std::to_string(i), key_kind::address));
  }
  for (int i = 0; i < others; ++i) {
    const std::string n = std::to_string(i);
    spec.limits.push_back(limit("other" + n, key_kind::address, "/service" + n + "/*/items"));
  }
  auto p = compile(spec);
  if (!p) std::abort();
  return *p;
}

// A browser's usual fields.
const std::vector<field>& fields() {
  static const std::vector<field> all{
      {"Host", "api.example.com"},          {"User-Agent", "Mozilla/5.0 (X11; Linux x86_64)"},
      {"Accept", "application/json"},       {"Accept-Language", "en-GB,en;q=0.8,de;q=0.5"},
      {"Accept-Encoding", "gzip, deflate"}, {"Connection", "keep-alive"},
      {"Cookie", "sid=0123456789abcdef"},   {"X-Request-Id", "0123456789"}};
  return all;
}

void run(benchmark::State& state, const compiled_policy& policy, verdict v) {
  const request_view request{
      "GET", "/users/42/items", "", "api.example.com", fields(), *address::parse("203.0.113.9")};
  plan p;
  decision d;
  std::vector<verdict> verdicts;
  for (auto _ : state) {
    policy.make_plan(request, p);
    verdicts.assign(p.charges.size(), v);
    policy.conclude(request, p, verdicts, {.decided_at = instant{1'700'000'000s}}, d);
    benchmark::DoNotOptimize(d.headers.data());
  }
}

const verdict allowed{.admitted = true,
                      .never = false,
                      .limit = 100,
                      .remaining = 42,
                      .retry_after = {},
                      .reset_after = 34'800ms,
                      .next_after = 600ms,
                      .delay = {}};
const verdict denied{.admitted = false,
                     .never = false,
                     .limit = 100,
                     .remaining = 0,
                     .retry_after = 600ms,
                     .reset_after = 60s,
                     .next_after = 600ms,
                     .delay = {}};

void allow_with_matching_limits(benchmark::State& state) {
  run(state, *policy_with(static_cast<int>(state.range(0)), 0), allowed);
}
BENCHMARK(allow_with_matching_limits)->Arg(0)->Arg(1)->Arg(3);

void refuse_with_matching_limits(benchmark::State& state) {
  run(state, *policy_with(static_cast<int>(state.range(0)), 0), denied);
}
BENCHMARK(refuse_with_matching_limits)->Arg(1)->Arg(3);

// Three matching limits among others that do not match.
void allow_among_other_limits(benchmark::State& state) {
  run(state, *policy_with(3, static_cast<int>(state.range(0))), allowed);
}
BENCHMARK(allow_among_other_limits)->Arg(1)->Arg(10)->Arg(100)->Arg(1000);

}  // namespace
}  // namespace penstock::policy
