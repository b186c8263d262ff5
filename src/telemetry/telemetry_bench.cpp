// What telemetry adds to a request: counting alone, and with the offenders' sketches.
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "telemetry/metrics.hpp"

namespace penstock::telemetry {
namespace {

const std::vector<limit_label> labels = {
    {"a", "address", "*"}, {"b", "api_key", "*"}, {"c", "global", "*"}};

// A request that three limits admit.
void counting(benchmark::State& state) {
  metrics m({1, 2});
  const auto slots = m.limits().assign(labels);
  loop_metrics& l = m.add_loop();
  for (auto _ : state) {
    for (const slot s : slots) l.checked(s, true);
    l.decided(slots[0], outcome::allow);
    l.check_duration.observe(std::chrono::nanoseconds{400});
    benchmark::ClobberMemory();
  }
}
BENCHMARK(counting);

// One key into a sketch: the same key, 64 keys, and always another key.
void sketching(benchmark::State& state) {
  metrics m({1, 2});
  loop_metrics& l = m.add_loop();
  std::vector<std::string> keys;
  for (int i = 0; i < state.range(0); ++i) keys.push_back("address:10.0.0." + std::to_string(i));
  std::size_t i = 0;
  for (auto _ : state) {
    l.keys.add(ranking::requests, 0, keys[i], instant{});
    if (++i == keys.size()) i = 0;
  }
}
BENCHMARK(sketching)->Arg(1)->Arg(64)->Arg(100'000);

void refusing(benchmark::State& state) {
  metrics m({1, 2});
  loop_metrics& l = m.add_loop();
  for (auto _ : state) {
    l.refusals.add(
        {.key = "address:10.0.0.1", .client = "10.0.0.1", .method = "GET", .path = "/a"});
  }
}
BENCHMARK(refusing);

void scraping(benchmark::State& state) {
  metrics m({1, 2});
  std::vector<limit_label> many;
  for (int i = 0; i < state.range(0); ++i)
    many.push_back({"l" + std::to_string(i), "address", "*"});
  (void)m.limits().assign(many);
  for (int i = 0; i < 4; ++i) m.add_loop();
  for (auto _ : state) benchmark::DoNotOptimize(m.scrape());
}
BENCHMARK(scraping)->Arg(5)->Arg(1000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace penstock::telemetry
