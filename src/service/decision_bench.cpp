// A whole decision in the process: plan, memory store, conclude, three limits; and each part alone.
// Instructions: run one benchmark under
// `valgrind --tool=callgrind --toggle-collect='*decide_once*'` and divide by its iterations.
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <benchmark/benchmark.h>

#include "policy/policy.hpp"
#include "store/memory/memory_store.hpp"

namespace penstock {
namespace {

using namespace std::chrono_literals;

policy::limit_spec limit(std::string name, const quota& q) {
  policy::limit_spec l;
  l.name = std::move(name);
  l.key = {{{{policy::key_kind::address, "", false}}}, "address"};
  l.rate.quotas = {q};
  return l;
}

std::shared_ptr<const policy::compiled_policy> three_limits(const quota& q) {
  policy::policy_spec spec;
  for (const auto& [name, kind] :
       {std::pair{"bucket", algorithm::token_bucket}, std::pair{"window", algorithm::fixed_window},
        std::pair{"sliding", algorithm::sliding_window_counter}}) {
    quota of_kind = q;
    of_kind.kind = kind;
    spec.limits.push_back(limit(name, of_kind));
  }
  auto compiled = policy::compile(spec);
  if (!compiled) std::abort();
  return *compiled;
}

const std::vector<field>& browser_fields() {
  static const std::vector<field> all{
      {"Host", "api.example.com"},          {"User-Agent", "Mozilla/5.0 (X11; Linux x86_64)"},
      {"Accept", "application/json"},       {"Accept-Language", "en-GB,en;q=0.8,de;q=0.5"},
      {"Accept-Encoding", "gzip, deflate"}, {"Connection", "keep-alive"},
      {"Cookie", "sid=0123456789abcdef"},   {"X-Request-Id", "0123456789"}};
  return all;
}

struct desk {
  std::shared_ptr<const policy::compiled_policy> rules;
  store::memory_store counters{{.secret = hash128{1, 2}}};
  policy::request_view request{.method = "GET",
                               .path = "/users/42/items",
                               .query = "",
                               .host = "api.example.com",
                               .fields = browser_fields(),
                               .peer = *policy::address::parse("203.0.113.9")};
  policy::plan plan{};
  policy::decision decision{};
  std::array<verdict, 3> verdicts{};
  instant now{1'800'000'000s};

  void make_plan() { rules->make_plan(request, plan); }
  void check() {
    now += 2ms;
    store::batch b;
    b.charges = plan.charges;
    b.verdicts = verdicts;
    counters.check(b, now);
  }
  void conclude() { rules->conclude(request, plan, verdicts, {.decided_at = now}, decision); }
};

[[gnu::noinline]] void decide_once(desk& d) {
  d.make_plan();
  d.check();
  d.conclude();
}

// Admits every request of a run at one every 2 ms, in states of a word; and none but the first.
constexpr quota plenty{.count = 2'000'000, .period = 1h};
constexpr quota hardly_any{.count = 1, .period = 1h};

template <class Part>
void run(benchmark::State& state, const quota& q, Part part) {
  desk d{.rules = three_limits(q)};
  decide_once(d);
  decide_once(d);
  for (auto _ : state) {
    part(d);
    benchmark::DoNotOptimize(d.decision.headers.data());
    benchmark::ClobberMemory();
  }
}

void whole_admitted(benchmark::State& state) {
  run(state, plenty, decide_once);
}
void whole_refused(benchmark::State& state) {
  run(state, hardly_any, decide_once);
}
void part_plan(benchmark::State& state) {
  run(state, plenty, [](desk& d) { d.make_plan(); });
}
void part_check(benchmark::State& state) {
  run(state, plenty, [](desk& d) { d.check(); });
}
void part_conclude(benchmark::State& state) {
  run(state, plenty, [](desk& d) { d.conclude(); });
}
BENCHMARK(whole_admitted);
BENCHMARK(whole_refused);
BENCHMARK(part_plan);
BENCHMARK(part_check);
BENCHMARK(part_conclude);

}  // namespace
}  // namespace penstock
