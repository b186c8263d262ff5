// Puts load on a Redis through the product's client and prints figures; for bench/redis.py.
//   redis_load check URL ALGORITHM IN_FLIGHT SECONDS [RATE]   RATE: checks/s at even distances,
//   else
//                                                             as many as fit
//   redis_load words ALGORITHM FILE   writes the last argument of one check to FILE and prints the
//                                     script, for redis-benchmark
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "store/redis/request_args.hpp"
#include "store/redis/scripts.hpp"
#include "store_runner.hpp"

namespace penstock::redis_test {
namespace {

using clock = std::chrono::steady_clock;

constexpr int keys = 1'000;

std::vector<counter> counters_of(const std::string& name) {
  std::vector<counter> all;
  const std::vector<algorithm> kinds =
      name == "four" ? std::vector{algorithm::token_bucket, algorithm::fixed_window,
                                   algorithm::sliding_window_counter, algorithm::token_bucket}
                     : std::vector<algorithm>{};
  for (int i = 0; i <= static_cast<int>(algorithm::leaky_bucket); ++i) {
    const auto kind = static_cast<algorithm>(i);
    if (to_string(kind) != name && name != "four") continue;
    const auto times = name == "four" ? std::count(kinds.begin(), kinds.end(), kind) : 1;
    for (int n = 0; n < times; ++n) {
      // Admits all through a bench, and no state ends meanwhile.
      quota q{.kind = kind, .count = 1'000, .period = std::chrono::hours{24}};
      if (kind == algorithm::token_bucket) q.burst = 10'000'000;
      if (kind == algorithm::leaky_bucket) q.queue = 10'000'000;
      if (kind == algorithm::fixed_window || kind == algorithm::sliding_window_counter) {
        q.count = 10'000'000;
      }
      if (kind == algorithm::sliding_window_log) q.count = 100;
      all.push_back(make_counter(std::string(to_string(kind)) + std::to_string(n), q));
    }
  }
  if (all.empty()) {
    std::cerr << "no such algorithm: " << name << "\n";
    std::exit(2);
  }
  return all;
}

struct lane {
  store::batch b;  // first: the callback gets its address
  class bench* of = nullptr;
  std::vector<charge> charges;
  std::vector<verdict> verdicts;
  clock::time_point due;
};

class bench {
 public:
  bench(const std::string& url, const std::string& algorithm, int in_flight)
      : counters_(counters_of(algorithm)), runner_(url, std::chrono::seconds{2}) {
    for (int i = 0; i < keys; ++i) names_.push_back("user:" + std::to_string(i));
    for (int i = 0; i < in_flight; ++i) {
      auto l = std::make_unique<lane>();
      l->of = this;
      l->verdicts.resize(counters_.size());
      for (const counter& c : counters_) l->charges.push_back({.what = &c});
      idle_.push_back(l.get());
      lanes_.push_back(std::move(l));
    }
  }

  int run(double seconds, double rate) {
    if (!runner_.run_until([&] { return runner_.store().serving(); })) {
      std::cerr << "redis does not serve\n";
      return 1;
    }
    measure(0.3, rate);
    latencies_.clear();
    done_ = failed_ = 0;
    rusage before{};
    getrusage(RUSAGE_SELF, &before);
    const auto begin = clock::now();
    measure(seconds, rate);
    const double took = std::chrono::duration<double>(clock::now() - begin).count();
    rusage after{};
    getrusage(RUSAGE_SELF, &after);
    const auto us = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
    };
    const double cpu =
        us(after.ru_utime) + us(after.ru_stime) - us(before.ru_utime) - us(before.ru_stime);
    std::sort(latencies_.begin(), latencies_.end());
    const auto at = [&](double q) {
      return latencies_.empty() ? 0
                                : latencies_[static_cast<std::size_t>(
                                      q * static_cast<double>(latencies_.size() - 1))];
    };
    std::cout << "{\"checks_per_s\":" << static_cast<double>(done_) / took
              << ",\"cpu_us\":" << cpu / static_cast<double>(done_) << ",\"p50_us\":" << at(0.5)
              << ",\"p99_us\":" << at(0.99) << ",\"failed\":" << failed_ << "}\n";
    return 0;
  }

 private:
  static void done(store::batch& b) {
    lane& l = reinterpret_cast<lane&>(b);
    bench& of = *l.of;
    ++of.done_;
    of.failed_ += b.failed ? 1 : 0;
    of.latencies_.push_back(
        std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - l.due).count());
    of.idle_.push_back(&l);
  }

  void start(clock::time_point due) {
    lane& l = *idle_.back();
    idle_.pop_back();
    const std::string& key = names_[static_cast<std::size_t>(next_++ % keys)];
    for (charge& c : l.charges) c.key = key;
    l.b = {.charges = l.charges, .verdicts = l.verdicts};
    l.b.on_done = &bench::done;
    l.due = due;
    if (runner_.store().check(l.b, instant{}) == store::progress::done) done(l.b);
  }

  void measure(double seconds, double rate) {
    const auto begin = clock::now();
    const auto end =
        begin + std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(seconds));
    auto due = begin;
    while (clock::now() < end) {
      if (rate <= 0) {
        while (!idle_.empty()) start(clock::now());
        runner_.context().restart();
        runner_.context().run_one();
        runner_.context().poll();
        continue;
      }
      while (due <= clock::now() && !idle_.empty()) {
        start(due);
        due += std::chrono::duration_cast<clock::duration>(std::chrono::duration<double>(1 / rate));
      }
      runner_.context().restart();
      runner_.context().poll();
    }
    runner_.run_until([&] { return idle_.size() == lanes_.size(); });
  }

  std::vector<counter> counters_;
  store_runner runner_;
  std::vector<std::string> names_;
  std::vector<std::unique_ptr<lane>> lanes_;
  std::vector<lane*> idle_;
  std::vector<std::int64_t> latencies_;
  std::uint64_t next_ = 0;
  std::uint64_t done_ = 0;
  std::uint64_t failed_ = 0;
};

int print_words(const std::string& algorithm, const std::string& file) {
  const std::vector<counter> counters = counters_of(algorithm);
  std::vector<charge> charges;
  for (const counter& c : counters) charges.push_back({.what = &c});
  std::string args;
  store::redis::append_check_args(args, charges, store::redis::request_kind::take);
  std::ofstream(file, std::ios::binary) << args;
  std::cout << store::redis::check_script(charges).text;
  return 0;
}

}  // namespace
}  // namespace penstock::redis_test

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 3 && words[0] == "words") {
    return penstock::redis_test::print_words(words[1], words[2]);
  }
  if (words.size() >= 5 && words[0] == "check") {
    penstock::redis_test::bench b(words[1], words[2], std::stoi(words[3]));
    return b.run(std::stod(words[4]), words.size() > 5 ? std::stod(words[5]) : 0);
  }
  std::cerr
      << "usage: redis_load check URL ALGORITHM IN_FLIGHT SECONDS [RATE] | words ALGORITHM FILE\n";
  return 2;
}
