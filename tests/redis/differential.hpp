// Leads two stores through the same random steps and compares every field of every verdict: random
// quotas of all algorithms, batches, shadow and only_check charges, refunds, records, resets,
// clocks that stand, run and go back.
#pragma once

#include <cstdlib>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <penstock/quota.hpp>

#include "store/plain_store.hpp"
#include "store_runner.hpp"

namespace penstock::redis_test {

inline std::uint64_t seed() {
  const char* given = std::getenv("PENSTOCK_SEED");
  return given != nullptr ? std::strtoull(given, nullptr, 10) : 20240601;
}

inline std::size_t scaled(std::size_t n) {
  const char* scale = std::getenv("PENSTOCK_SCALE");
  const std::size_t by = scale != nullptr ? std::strtoull(scale, nullptr, 10) : 1;
  return n * std::max<std::size_t>(by, 1);
}

using random_source = std::mt19937_64;

inline std::int64_t between(random_source& r, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(r);
}

// From small numbers, where every border is met often, to the ends of what a double holds.
inline std::int64_t spread(random_source& r, std::int64_t low, std::int64_t high) {
  switch (between(r, 0, 3)) {
    case 0:
      return between(r, low, std::min(high, low + 3));
    case 1:
      return between(r, low, std::min(high, low + 40));
    case 2:
      return std::clamp<std::int64_t>(
          between(r, 0, 63) == 0 ? high : std::int64_t{1} << between(r, 0, 52), low, high);
    default:
      return between(r, low, std::min<std::int64_t>(high, low + 100'000));
  }
}

inline duration random_period(random_source& r) {
  static constexpr std::int64_t periods[] = {
      1'000,      1'001,      7'777,        100'000,        1'000'000,         10'000'000,
      60'000'000, 61'000'001, 3600'000'000, 86'400'000'000, 34'560'000'000'000};
  return duration{periods[between(r, 0, std::size(periods) - 1)]};
}

inline quota random_quota(random_source& r, algorithm kind) {
  constexpr std::int64_t most = (std::int64_t{1} << 53U) - 1;
  while (true) {
    quota q;
    q.kind = kind;
    q.count = spread(r, between(r, 0, 20) == 0 ? 0 : 1, most);
    q.period = random_period(r);
    if (kind == algorithm::leaky_bucket) {
      q.queue = spread(r, 0, most - 1);
      if (between(r, 0, 2) == 0) q.undelayed = between(r, 0, q.queue);
      if (between(r, 0, 2) == 0) q.max_delay = random_period(r);
    } else if (between(r, 0, 1) == 0) {
      q.burst = spread(r, 0, most);
      if (kind != algorithm::token_bucket && between(r, 0, 1) == 0)
        q.burst_window = random_period(r);
    }
    if (validate(q)) return q;
  }
}

// Steps of the clock around the borders of a quota, and now and then anywhere, also back.
inline std::int64_t random_step(random_source& r, const quotas::compiled& q) {
  const std::int64_t unit =
      std::max<std::int64_t>(1, q.unit_num / std::max<std::int64_t>(1, q.unit_den));
  switch (between(r, 0, 11)) {
    case 0:
    case 1:
    case 2:
      return 0;
    case 3:
      return 1;
    case 4:
      return q.tick_us * unit;
    case 5:
      return q.tick_us * between(r, 0, 3 * unit);
    case 6:
      return q.period * q.tick_us;
    case 7:
      return between(r, 0, q.period * q.tick_us / 3 + 1);
    case 8:
      return q.period * q.tick_us - 1;
    case 9:
      return between(r, 0, 3) == 0 ? -between(r, 0, 3 * q.period * q.tick_us) : 0;
    case 10:
      return between(r, 0, 40) == 0 ? between(r, 0, 30 * q.period * q.tick_us) : 1;
    default:
      return between(r, 0, q.tick_us * 2);
  }
}

inline std::string describe(const verdict& v) {
  return "admitted " + std::to_string(v.admitted) + " never " + std::to_string(v.never) +
         " limit " + std::to_string(v.limit) + " remaining " + std::to_string(v.remaining) +
         " retry " + std::to_string(v.retry_after.count()) + " reset " +
         std::to_string(v.reset_after.count()) + " next " + std::to_string(v.next_after.count()) +
         " delay " + std::to_string(v.delay.count());
}

// A world of a few counters and keys that both stores are led through.
struct world {
  explicit world(std::uint64_t s) : random(s) {}

  random_source random;
  std::deque<counter> counters;
  instant now{duration{1'700'000'000'000'000}};

  const counter& any() {
    return counters[static_cast<std::size_t>(
        between(random, 0, static_cast<std::int64_t>(counters.size()) - 1))];
  }

  std::int64_t any_cost(const counter& c) {
    switch (between(random, 0, 7)) {
      case 0:
        return 0;
      case 1:
        return spread(random, 0, (std::int64_t{1} << 53U) - 1);
      case 2:
        return c.quota.capacity;
      case 3:
        return std::max<std::int64_t>(0, c.quota.capacity / 3);
      default:
        return between(random, 1, 3);
    }
  }
};

struct recorded {
  std::vector<charge> charges;
  instant at;
};

// Leads both stores through `steps` random steps and stops at the first difference.
// `wait`: for a batch that is pending. `next_step(world, quota)`: how far the clock goes, in us.
template <class Step>
void compare(world& w, penstock::store::store& redis,
             const std::function<void(penstock::store::batch&)>& wait,
             penstock::store::plain_store& plain, std::size_t steps, Step next_step) {
  static const std::string keys[] = {"a", "user:1", "b.c-d_e"};
  std::deque<recorded> admitted;
  for (std::size_t step = 0; step < steps; ++step) {
    w.now += duration{next_step(w, w.any().quota)};
    w.now = std::clamp(w.now, instant{}, instant{duration{std::int64_t{1} << 52U}});
    const std::int64_t what = between(w.random, 0, 99);
    if (what < 4 && !admitted.empty()) {
      const recorded& back = admitted[static_cast<std::size_t>(
          between(w.random, 0, static_cast<std::int64_t>(admitted.size()) - 1))];
      redis.refund(back.charges, back.at, w.now);
      plain.refund(back.charges, back.at, w.now);
      continue;
    }
    if (what == 4) {
      const counter& c = w.any();
      redis.reset(c, keys[0]);
      plain.reset(c, keys[0]);
      continue;
    }
    std::vector<charge> charges;
    const std::int64_t size = between(w.random, 0, 2) == 0 ? between(w.random, 2, 4) : 1;
    for (std::int64_t i = 0; i < size; ++i) {
      const counter& c = w.any();
      charges.push_back({.what = &c,
                         .key = keys[between(w.random, 0, 2)],
                         .cost = w.any_cost(c),
                         .as = between(w.random, 0, 5) == 0 ? role::shadow : role::enforce,
                         .only_check = between(w.random, 0, 7) == 0});
    }
    if (what < 8) {
      redis.record(charges, w.now);
      plain.record(charges, w.now);
      continue;
    }
    std::vector<verdict> got(charges.size());
    std::vector<verdict> want(charges.size());
    penstock::store::batch b{
        .charges = charges,
        .verdicts = got,
        .why = what < 14 ? penstock::store::intent::peek : penstock::store::intent::take};
    if (redis.check(b, w.now) == penstock::store::progress::pending) wait(b);
    ASSERT_FALSE(b.failed) << "step " << step;
    ASSERT_EQ(b.decided_at, w.now);
    b.verdicts = want;
    plain.check(b, w.now);
    bool all = true;
    for (std::size_t i = 0; i < charges.size(); ++i) {
      all = all && (want[i].admitted || charges[i].as == role::shadow);
      const charge& c = charges[i];
      ASSERT_EQ(got[i], want[i]) << "step " << step << " charge " << i << " of " << size << " id "
                                 << c.what->id << " " << to_string(c.what->quota.source.kind)
                                 << (c.what->count_denied ? " count_denied" : "") << " key "
                                 << c.key << " cost " << c.cost << " at "
                                 << w.now.time_since_epoch().count() << "\n  redis "
                                 << describe(got[i]) << "\n  plain " << describe(want[i]);
    }
    if (all && b.why == penstock::store::intent::take && between(w.random, 0, 3) == 0) {
      admitted.push_back({charges, w.now});
      if (admitted.size() > 20) admitted.pop_front();
    }
  }
}

}  // namespace penstock::redis_test
