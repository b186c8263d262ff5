// A fixed window aligned to the Unix epoch, and the burst of a window algorithm, which is such a
// window of its own. Pure and total.
//
// A clock that goes back by one window: the newer window goes on, no time has passed. Further back:
// the stored window becomes the current one and what is used stays used.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/checked.hpp"
#include "quota/algorithms.hpp"
#include "quota/compiled.hpp"

namespace penstock::quotas {

struct window {
  std::int64_t index = 0;
  std::int64_t used = 0;
  bool moved = false;  // by a clock that went far back: has to be stored

  [[nodiscard]] std::int64_t end(std::int64_t period) const noexcept {
    return (index + 1) * period;
  }
};

// The end of the n-th window from `index`, for stored indexes of any value: a damaged one must not
// overflow.
[[nodiscard]] inline std::int64_t end_of(std::int64_t index, std::int64_t n,
                                         std::int64_t period) noexcept {
  const std::int64_t most = 2 * exact_max / period;
  return (std::clamp(index, -most, most) + n) * period;
}

// The window as it is at `now`. One in which nothing is used is the current one.
[[nodiscard]] inline window roll(std::int64_t index, std::int64_t used, std::int64_t now,
                                 std::int64_t period) noexcept {
  const std::int64_t current = floor_div(now, period);
  if (used <= 0 || index < current) return {current, 0, false};
  const std::int64_t kept = std::min(used, exact_max);
  if (index > current + 1) return {current, kept, true};
  return {index, kept, false};
}

// The units above the rate. Without a burst everything about it is zero.
struct burst_part {
  window at;
  std::int64_t remaining = 0;
  std::int64_t end_after = 0;  // ticks until it is whole again; 0 when it is

  burst_part(const compiled& q, window w, std::int64_t now) noexcept : at(w) {
    if (q.burst == 0) return;
    remaining = std::max<std::int64_t>(0, q.burst - w.used);
    if (w.used > 0) end_after = w.end(q.burst_period) - now;
  }
};

[[nodiscard]] inline burst_part roll_burst(const compiled& q, std::int64_t index, std::int64_t used,
                                           std::int64_t now) noexcept {
  if (q.burst == 0) return {q, {index, used, false}, now};
  return {q, roll(index, used, now, q.burst_period), now};
}

[[nodiscard]] inline burst_part charge_burst(const compiled& q, burst_part b, std::int64_t units,
                                             std::int64_t now) noexcept {
  b.at.used += units;
  return {q, b.at, now};
}

// `Base`: a window algorithm without its burst, at one moment:
//   remaining()  units left, 0..count
//   wait_for(k)  ticks until k units are left at once if nothing else comes, 1 <= k <= count;
//                0 when they are
//   reset()      ticks until it is as if untouched
// What is left only grows with time, in both parts, so the first moment at which they suffice
// together is either before the burst is whole again or at a wait for the rest from the base.
template <class Base>
[[nodiscard]] std::int64_t retry_after(const compiled& q, const Base& base, const burst_part& burst,
                                       std::int64_t cost) noexcept {
  const std::int64_t rest = cost - q.burst;
  const std::int64_t whole =
      std::max(burst.end_after, rest > 0 ? base.wait_for(rest) : std::int64_t{0});
  const std::int64_t need = cost - burst.remaining;
  if (need > q.capacity - q.burst) return whole;
  return std::min(whole, base.wait_for(need));
}

template <class Base>
[[nodiscard]] verdict report(const compiled& q, const Base& base,
                             const burst_part& burst) noexcept {
  const std::int64_t count = q.capacity - q.burst;
  const std::int64_t left = base.remaining();
  std::int64_t next = left < count ? base.wait_for(left + 1) : 0;
  if (burst.end_after > 0 && (next == 0 || burst.end_after < next)) next = burst.end_after;
  verdict v;
  v.limit = q.capacity;
  v.remaining = left + burst.remaining;
  v.reset_after = as_duration(q, std::max(base.reset(), burst.end_after));
  v.next_after = as_duration(q, next);
  return v;
}

// How a refund is shared out when it is not known which part was charged. The part that ends first
// is given back first, and what could have come from a part that is over is not given back at all:
// so that a refund never buys more than the charge did.
struct refund_split {
  std::int64_t base = 0;
  std::int64_t burst = 0;
};

[[nodiscard]] inline refund_split split_refund(std::int64_t cost, bool burst_first,
                                               std::int64_t base_limit, std::int64_t burst_limit) {
  refund_split s;
  if (burst_first) {
    s.burst = std::min(cost, burst_limit);
    s.base = std::min(cost - s.burst, base_limit);
  } else {
    s.base = std::min(cost, base_limit);
    s.burst = std::min(cost - s.base, burst_limit);
  }
  return s;
}

}  // namespace penstock::quotas
