// A quota in the integers that every store computes with, and the pure functions on them.
//
// Everything is counted in ticks: the finest of 1 µs, 1 ms and 1 s that divides the period and
// keeps every product below within 2^53, so that Lua's doubles and our 64-bit integers give the
// same verdicts. The functions read no clock, allocate nothing (but the log) and never overflow for
// anything that `compile` accepts. Time going back: docs/algorithms.md, "When the clock goes back".
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include <penstock/decision.hpp>
#include <penstock/quota.hpp>
#include <penstock/result.hpp>

#include "base/checked.hpp"

namespace penstock::quotas {

struct compiled {
  quota source;               // as written
  std::int64_t tick_us = 1;   // 1, 1'000 or 1'000'000
  std::int64_t period = 0;    // ticks
  std::int64_t capacity = 0;  // most units at once: count, burst, count + burst, or queue + 1;
                              // 0 = every cost above 0 is refused for good
  // Token bucket and queue: one unit lasts unit_num / unit_den ticks, in lowest terms.
  std::int64_t unit_num = 0;
  std::int64_t unit_den = 1;
  std::int64_t rate_tag = 0;  // unit_num * 4 + k where tick_us = 1000^k: the rate as states name it
  // Token bucket and queue: the longest distance of the stored time from now, in 1/unit_den ticks.
  std::int64_t full = 0;
  // Window algorithms with a burst: units and ticks of the burst's own fixed window; 0 = none.
  std::int64_t burst = 0;
  std::int64_t burst_period = 0;
  // Queue: units that may wait (the smaller of `queue` and what `max_delay` allows), undelayed
  // units.
  std::int64_t queue = 0;
  std::int64_t undelayed = 0;
  std::int64_t max_delay = 0;  // ticks; the longest delay that is imposed
  std::int64_t max_wait = 0;   // the longest wait for one's turn that is accepted, 1/unit_den ticks

  // Rounded down, and held within +-2^53 us (the year 2255): beyond it time stands still.
  [[nodiscard]] std::int64_t ticks(instant t) const noexcept {
    const std::int64_t us = std::clamp(t.time_since_epoch().count(), -exact_max, exact_max);
    if (tick_us == 1) return us;
    return tick_us == 1'000 ? floor_div(us, 1'000) : floor_div(us, 1'000'000);
  }
};

// Errors: invalid_quota, naming the nearest accepted quota.
[[nodiscard]] result<compiled> compile(const quota& q);

// The state of one key under every algorithm but the log. `present` false: never seen, or as if.
//   token_bucket  w = {tat ticks, tat fraction in 1/unit_den, rate_tag, unit_den, 0}
//   leaky_bucket  w = {free ticks, free fraction in 1/unit_den, rate_tag, unit_den, last}
//                 last = tick of the latest admission, or ~tick when that tick admitted several:
//                 a place in the queue is given back only while nobody is scheduled behind it
//   fixed_window  w = {window index, count, burst window index, burst count, 0}
//   sliding_window_counter
//                 w = {window index, current, previous, burst window index, burst count}
// rate_tag and unit_den are the rate and tick under which a time was stored: under another rate the
// units used are kept, rounded up to whole units, not the time.
struct state {
  bool present = false;
  std::array<std::int64_t, 5> w{};
  friend bool operator==(const state&, const state&) = default;
};

struct outcome {
  state next;            // what to store when `changed`
  bool changed = false;  // false: leave the stored state (also its expiry) alone
  verdict result;
};

// Decides `cost` units at tick `now`. Refused requests charge nothing; `changed` may still be true,
// when a clock that went back had to be clamped or a state of another rate was converted: without
// storing that, retry_after would not hold. cost 0 reports and never changes anything. Words that
// no take() wrote count as never seen. Precondition: kind is not sliding_window_log, cost >= 0,
// `now` comes from ticks().
[[nodiscard]] outcome take(const compiled& q, const state& prior, std::int64_t now,
                           std::int64_t cost) noexcept;

// Takes back what was charged at tick `charged_at`, as far as it still counts; never above
// capacity, and never more than that charge, also where it cannot be told which counter it went to.
// The result reports the state after it.
[[nodiscard]] outcome refund(const compiled& q, const state& prior, std::int64_t now,
                             std::int64_t charged_at, std::int64_t cost) noexcept;

// First tick at which the state is as if untouched; the store may forget it then. 0 when it already
// is. Under the rate of `s`, if that is not the rate of `q`.
[[nodiscard]] std::int64_t expires_at(const compiled& q, const state& s) noexcept;

}  // namespace penstock::quotas
