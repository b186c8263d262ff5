// The memory store through its contract: hot and random keys, one and two threads, bytes per key;
// beside it the plain store (one mutex, one map). Keys and traces are made before the clock starts,
// and lie in the order in which they are asked for: a request's key has just been written, so it is
// the counter that is far away, not the key.
#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include "store/memory/memory_store.hpp"
#include "store/plain_store.hpp"

namespace {

using namespace penstock;
using namespace std::chrono_literals;

constexpr std::size_t mib = std::size_t{1} << 20U;

counter limit_of(std::int64_t count, duration period) {
  return {.id = "client:token_bucket:60s",
          .quota = quotas::compile({.count = count, .period = period}).value()};
}

// Keys as policies make them: an address in text.
std::string key_of(std::uint64_t i) {
  std::string key(16, 'k');
  for (std::size_t at = 0; at < 10; ++at, i /= 10) key[15 - at] = static_cast<char>('0' + i % 10);
  return key;
}

struct keys {
  std::vector<std::array<char, 16>> text;
  explicit keys(std::size_t n) : text(n) {
    for (std::size_t i = 0; i < n; ++i) key_of(i).copy(text[i].data(), 16);
  }
  std::string_view operator[](std::size_t i) const { return {text[i].data(), 16}; }
};

const keys& keys_of(std::size_t n) {
  static std::map<std::size_t, keys> made;
  return made.try_emplace(n, n).first->second;
}

using texts = std::vector<std::array<char, 16>>;

std::string_view view(const std::array<char, 16>& text) {
  return {text.data(), 16};
}

texts in_order(const keys& all, const std::vector<std::uint32_t>& trace) {
  texts t;
  t.reserve(trace.size());
  for (const std::uint32_t i : trace) t.push_back(all.text[i]);
  return t;
}

const texts& zipf_trace() {
  static const texts trace = [] {
    constexpr std::size_t n = 1'000'000;
    std::vector<double> sum(n);
    double total = 0;
    for (std::size_t i = 0; i < n; ++i) sum[i] = total += 1.0 / static_cast<double>(i + 1);
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> draw(0, total);
    std::vector<std::uint32_t> t(1U << 20U);
    for (auto& each : t) {
      each = static_cast<std::uint32_t>(std::lower_bound(sum.begin(), sum.end(), draw(random)) -
                                        sum.begin());
    }
    return in_order(keys_of(n), t);
  }();
  return trace;
}

const texts& uniform_trace(std::size_t n) {
  static std::map<std::size_t, texts> made;
  texts& t = made[n];
  if (t.empty()) {
    std::mt19937_64 random(11);
    std::vector<std::uint32_t> trace(1U << 22U);
    for (auto& each : trace) each = static_cast<std::uint32_t>(random() % n);
    t = in_order(keys_of(n), trace);
  }
  return t;
}

bool ask(store::store& s, const counter& what, std::string_view key, instant now) {
  const charge one{.what = &what, .key = key};
  verdict answer;
  store::batch b;
  b.charges = {&one, 1};
  b.verdicts = {&answer, 1};
  s.check(b, now);
  return answer.admitted;
}

std::unique_ptr<store::store> memory(std::size_t bytes) {
  return std::make_unique<store::memory_store>(
      store::memory_store::options{.max_bytes = bytes, .secret = hash128{1, 2}});
}
std::unique_ptr<store::store> plain(std::size_t) {
  return std::make_unique<store::plain_store>();
}

using maker = std::unique_ptr<store::store> (*)(std::size_t);

const instant start{1'800'000'000s};

void hot(benchmark::State& state, maker make) {
  static std::unique_ptr<store::store> shared;
  static counter what;
  if (state.thread_index() == 0) {
    shared = make(64 * mib);
    what = limit_of(state.range(0), 1s);
  }
  const std::string key = key_of(42);
  instant now = start;
  for (auto _ : state) {
    now += duration{1};
    benchmark::DoNotOptimize(ask(*shared, what, key, now));
  }
  state.SetItemsProcessed(state.iterations());
}

void random_keys(benchmark::State& state, maker make) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const keys& all = keys_of(n);
  const texts& trace = uniform_trace(n);
  const counter what = limit_of(100'000, 24h);
  const auto s = make(std::max(64 * mib, n * 28));
  for (std::size_t i = 0; i < n; ++i) ask(*s, what, all[i], start);
  std::size_t at = 0;
  instant now = start;
  for (auto _ : state) {
    now += duration{1};
    benchmark::DoNotOptimize(ask(*s, what, view(trace[at]), now));
    at = (at + 1) & (trace.size() - 1);
  }
  state.SetItemsProcessed(state.iterations());
}

void zipf(benchmark::State& state, maker make) {
  static std::unique_ptr<store::store> shared;
  static counter what;
  if (state.thread_index() == 0) {
    shared = make(64 * mib);
    what = limit_of(100'000, 60s);
    keys_of(1'000'000);
    zipf_trace();
    for (std::size_t i = 0; i < 1'000'000; ++i) ask(*shared, what, keys_of(1'000'000)[i], start);
  }
  const texts* trace = nullptr;
  std::size_t at = 0;
  instant now = start;
  for (auto _ : state) {
    if (trace == nullptr) {  // only now has thread 0 made it
      trace = &zipf_trace();
      at = static_cast<std::size_t>(state.thread_index()) * 500'000;
    }
    now += duration{1};
    benchmark::DoNotOptimize(ask(*shared, what, view((*trace)[at]), now));
    at = (at + 1) & (trace->size() - 1);
  }
  state.SetItemsProcessed(state.iterations());
}

// Every check is a new key: growth first, then eviction.
void new_keys(benchmark::State& state, maker make) {
  const auto s = make(64 * mib);
  const counter what = limit_of(100, 60s);
  std::uint64_t i = 0;
  instant now = start;
  for (auto _ : state) {
    now += duration{1};
    benchmark::DoNotOptimize(ask(*s, what, key_of(i++), now));
  }
  state.SetItemsProcessed(state.iterations());
}

void three_limits(benchmark::State& state, maker make) {
  const auto s = make(64 * mib);
  const std::array<counter, 3> what{
      counter{.id = "a", .quota = quotas::compile({.count = 1'000'000, .period = 1s}).value()},
      counter{.id = "b",
              .quota = quotas::compile(
                           {.kind = algorithm::fixed_window, .count = 1'000'000'000, .period = 1h})
                           .value()},
      counter{
          .id = "c",
          .quota = quotas::compile(
                       {.kind = algorithm::sliding_window_counter, .count = 100'000, .period = 60s})
                       .value()}};
  const std::string key = key_of(42);
  std::array<charge, 3> charges;
  for (std::size_t i = 0; i < 3; ++i) charges[i] = {.what = &what[i], .key = key};
  std::array<verdict, 3> verdicts;
  instant now = start;
  for (auto _ : state) {
    now += duration{100};
    store::batch b;
    b.charges = charges;
    b.verdicts = verdicts;
    s->check(b, now);
    benchmark::DoNotOptimize(verdicts);
  }
  state.SetItemsProcessed(state.iterations());
}

// Live keys until one in a thousand was evicted while it still mattered.
void bytes_per_key(benchmark::State& state) {
  for (auto _ : state) {
    store::memory_store s({.max_bytes = 64 * mib, .secret = hash128{1, 2}});
    const counter what = limit_of(100, 24h);
    std::uint64_t i = 0;
    do {
      for (int more = 0; more < 1'000; ++more) ask(s, what, key_of(i++), start);
    } while (s.stats().evicted_live * 1'000 < i);
    const store::memory_stats stats = s.stats();
    state.counters["bytes_per_key"] =
        static_cast<double>(stats.bytes) / static_cast<double>(stats.entries);
    state.counters["bytes_per_key_of_max"] =
        static_cast<double>(64 * mib) / static_cast<double>(stats.entries);
    state.counters["keys"] = static_cast<double>(stats.entries);
  }
}

}  // namespace

BENCHMARK_CAPTURE(hot, admitted_memory, memory)->Arg(1'000'000);
BENCHMARK_CAPTURE(hot, admitted_plain, plain)->Arg(1'000'000);
BENCHMARK_CAPTURE(hot, refused_memory, memory)->Arg(1);
BENCHMARK_CAPTURE(hot, refused_plain, plain)->Arg(1);
BENCHMARK_CAPTURE(random_keys, memory, memory)->Arg(1'000'000)->Arg(10'000'000);
BENCHMARK_CAPTURE(random_keys, plain, plain)->Arg(1'000'000);
BENCHMARK_CAPTURE(new_keys, memory, memory)->Iterations(8'000'000);
BENCHMARK_CAPTURE(three_limits, memory, memory);
BENCHMARK_CAPTURE(three_limits, plain, plain);
BENCHMARK_CAPTURE(hot, two_threads_memory, memory)->Arg(1'000'000)->Threads(2)->UseRealTime();
BENCHMARK_CAPTURE(hot, two_threads_plain, plain)->Arg(1'000'000)->Threads(2)->UseRealTime();
BENCHMARK_CAPTURE(zipf, memory, memory)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK_CAPTURE(zipf, plain, plain)->Threads(1)->Threads(2)->UseRealTime();
BENCHMARK(bytes_per_key)->Iterations(1)->Unit(benchmark::kMillisecond);
