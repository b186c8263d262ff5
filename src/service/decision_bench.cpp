// A whole decision in the process: plan, memory store, conclude, three limits; and each part alone.
// Instructions: run one benchmark under
// `valgrind --tool=callgrind --toggle-collect='*decide_once*'` and divide by its iterations.
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
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

// `count` units an hour: enough to admit every request of a run, or none but the first.
std::shared_ptr<const policy::compiled_policy> three_limits(std::int64_t count) {
  policy::policy_spec spec;
  spec.limits.push_back(limit("bucket", {.count = count, .period = 1h}));
  spec.limits.push_back(
      limit("window", {.kind = algorithm::fixed_window, .count = count, .period = 1h}));
  spec.limits.push_back(
      limit("sliding", {.kind = algorithm::sliding_window_counter, .count = count, .period = 1h}));
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
    now += 1us;
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

constexpr std::int64_t plenty = 1'000'000'000;

template <class Part>
void run(benchmark::State& state, std::int64_t count, Part part) {
  desk d{.rules = three_limits(count)};
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
  run(state, 1, decide_once);
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
