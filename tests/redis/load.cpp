#include "load.hpp"

#include <algorithm>
#include <string>

namespace penstock::redis_test {
namespace {

using clock = std::chrono::steady_clock;

}  // namespace

struct load::lane {
  store::batch b;  // first: the callback gets its address
  load* of = nullptr;
  counter what;
  std::string key;
  charge one;
  verdict result;
  clock::time_point begin;
};

load::load(store_runner& on, std::size_t lanes) : runner_(on) {
  static int worlds = 0;
  const std::string world = std::to_string(++worlds);
  for (std::size_t i = 0; i < lanes; ++i) {
    auto l = std::make_unique<lane>();
    l->of = this;
    // Never refused in a test, and no two alike in their limit's remainder: by 10^9 apart.
    l->what = make_counter("lane", {.kind = algorithm::fixed_window,
                                    .count = static_cast<std::int64_t>(i + 1) * 1'000'000'000,
                                    .period = std::chrono::hours{24 * 400}});
    l->key = "w" + world + "." + std::to_string(i);
    l->one = {.what = &l->what, .key = l->key, .cost = 1};
    idle_.push_back(l.get());
    lanes_.push_back(std::move(l));
  }
}

load::~load() {
  for (const auto& l : lanes_) runner_.store().abandon(l->b);
}

void load::done(store::batch& b) {
  lane& l = reinterpret_cast<lane&>(b);
  --l.of->open_;
  l.of->finished(l, false);
}

void load::start(lane& l) {
  l.b = {.charges = {&l.one, 1}, .verdicts = {&l.result, 1}};
  l.b.on_done = &load::done;
  l.begin = clock::now();
  if (runner_.store().check(l.b, instant{}) == store::progress::done) {
    finished(l, true);
  } else {
    ++open_;
  }
}

void load::finished(lane& l, bool at_once) {
  const auto took = std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - l.begin);
  idle_.push_back(&l);
  if (l.b.failed) {
    ++seen_.failed;
    if (at_once) {
      ++seen_.failed_at_once;
      seen_.slowest_at_once = std::max(seen_.slowest_at_once, took);
    } else {
      seen_.slowest = std::max(seen_.slowest, took);
    }
    return;
  }
  ++seen_.answered;
  seen_.slowest = std::max(seen_.slowest, took);
  const std::int64_t count = l.what.quota.capacity;
  if (l.result.remaining >= count || l.result.remaining < count - 500'000'000) ++seen_.foreign;
}

void load::run_for(std::chrono::milliseconds time) {
  const auto end = clock::now() + time;
  while (clock::now() < end) {
    std::vector<lane*> now;
    now.swap(idle_);
    for (lane* l : now) start(*l);
    runner_.context().restart();
    // While requests fail at once the loop must still turn, at a pace.
    runner_.context().run_one_for(std::chrono::milliseconds{1});
    runner_.context().poll();
  }
}

void load::run_until_answered(std::size_t count) {
  const std::size_t wanted = seen_.answered + count;
  const auto end = clock::now() + std::chrono::minutes{1};
  while (seen_.answered < wanted && clock::now() < end) run_for(std::chrono::milliseconds{1});
}

load::seen load::take_seen() {
  return std::exchange(seen_, {});
}

}  // namespace penstock::redis_test
