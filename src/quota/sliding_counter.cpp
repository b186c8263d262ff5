// Sliding window counter: the previous fixed window counts as far as it still overlaps the window
// that ends now. docs/algorithms.md, "Sliding window counter".
#include <cassert>

#include "quota/window.hpp"

namespace penstock::quotas::sliding_counter {
namespace {

// Estimate = previous * (period - elapsed) / period + current, kept as an exact numerator over
// `period`. Both counts are held within `count`, also after the limit was lowered, so that every
// product is within count * period.
struct pair_of_windows {
  std::int64_t count = 0;
  std::int64_t period = 1;
  std::int64_t index = 0;
  std::int64_t current = 0;
  std::int64_t previous = 0;
  std::int64_t elapsed = 0;  // in the current window, 0..period-1
  std::int64_t late = 0;     // ticks until the real now reaches the window, after a step back
  bool moved = false;

  pair_of_windows(const compiled& q, const state& s, std::int64_t now) noexcept
      : count(q.capacity - q.burst), period(q.period) {
    const std::int64_t real = floor_div(now, period);
    elapsed = now - real * period;
    index = real;
    if (!s.present) return;
    const std::int64_t stored_current = std::clamp<std::int64_t>(s.w[1], 0, count);
    const std::int64_t stored_previous = std::clamp<std::int64_t>(s.w[2], 0, count);
    if (s.w[0] < real - 1 || (stored_current == 0 && stored_previous == 0)) return;
    if (s.w[0] == real - 1) {
      previous = stored_current;
    } else if (s.w[0] <= real + 1) {
      current = stored_current;
      previous = stored_previous;
      if (s.w[0] > real) {  // one window back: no time has passed
        index = s.w[0];
        late = period - elapsed;
        elapsed = 0;
      }
    } else {  // further back: what is used stays used, stamped now
      current = std::min(count, stored_previous + stored_current);
      moved = true;
    }
  }

  [[nodiscard]] std::int64_t remaining() const noexcept {
    const std::int64_t left = (count - current) * period - previous * (period - elapsed);
    return left < 0 ? 0 : left / period;
  }

  [[nodiscard]] std::int64_t wait_for(std::int64_t k) const noexcept {
    if (k <= remaining()) return 0;
    const std::int64_t room = count - k - current;
    assert(room < 0 || previous > 0);  // since k > remaining()
    if (room >= 0) return late + period - elapsed - period * room / previous;
    assert(current > 0);  // since k <= count
    // Not before the next window, in which `current` plays the previous one.
    return late + 2 * period - elapsed - period * (count - k) / current;
  }

  [[nodiscard]] std::int64_t reset() const noexcept {
    if (current > 0) return late + 2 * period - elapsed;
    return previous > 0 ? late + period - elapsed : 0;
  }
};

state pack(const pair_of_windows& base, const window& burst) noexcept {
  return {.present = true, .w = {base.index, base.current, base.previous, burst.index, burst.used}};
}

}  // namespace

outcome take(const compiled& q, const state& prior, std::int64_t now, std::int64_t cost) noexcept {
  const state s = prior.present ? prior : state{};
  pair_of_windows base{q, s, now};
  burst_part burst = roll_burst(q, s.w[3], s.w[4], now);
  const std::int64_t left = base.remaining();
  const bool admitted = cost <= q.capacity && cost <= left + burst.remaining;
  if (admitted && cost > 0) {
    const std::int64_t from_base = std::min(cost, left);
    base.current += from_base;
    burst = charge_burst(q, burst, cost - from_base, now);
  }
  outcome out{prior, cost > 0 && (admitted || base.moved || burst.at.moved),
              report(q, base, burst)};
  if (out.changed) out.next = pack(base, burst.at);
  out.result.admitted = admitted;
  out.result.never = cost > q.capacity;
  if (!admitted && !out.result.never) {
    out.result.retry_after = as_duration(q, retry_after(q, base, burst, cost));
  }
  return out;
}

outcome refund(const compiled& q, const state& prior, std::int64_t now, std::int64_t charged_at,
               std::int64_t cost) noexcept {
  const state s = prior.present ? prior : state{};
  pair_of_windows base{q, s, now};
  burst_part burst = roll_burst(q, s.w[3], s.w[4], now);
  const std::int64_t index = floor_div(charged_at, q.period);
  std::int64_t none = base.count;  // what a window that is over would have taken of it
  std::int64_t& counted = index == base.index       ? base.current
                          : index == base.index - 1 ? base.previous
                                                    : none;
  const bool in_base = &counted != &none;
  refund_split back;
  if (q.burst == 0) {
    back.base = in_base ? std::min(cost, counted) : 0;
  } else {
    const std::int64_t burst_index = floor_div(charged_at, q.burst_period);
    const bool in_burst = burst_index == burst.at.index;
    const bool burst_first = (burst_index + 1) * q.burst_period <= (index + 2) * q.period;
    back = split_refund(cost, burst_first, counted, in_burst ? burst.at.used : q.burst);
    if (!in_base) back.base = 0;
    if (!in_burst) back.burst = 0;
  }
  counted -= back.base;
  burst = charge_burst(q, burst, -back.burst, now);
  outcome out{prior, back.base + back.burst > 0, report(q, base, burst)};
  if (out.changed) out.next = pack(base, burst.at);
  out.result.admitted = true;
  return out;
}

std::int64_t expires_at(const compiled& q, const state& s) noexcept {
  std::int64_t base_end = 0;
  if (s.w[1] > 0) {
    base_end = end_of(s.w[0], 2, q.period);
  } else if (s.w[2] > 0) {
    base_end = end_of(s.w[0], 1, q.period);
  }
  const std::int64_t burst_end = q.burst > 0 && s.w[4] > 0 ? end_of(s.w[3], 1, q.burst_period) : 0;
  return std::max(base_end, burst_end);
}

}  // namespace penstock::quotas::sliding_counter
