// Fixed window, aligned to the Unix epoch, with an optional burst. docs/algorithms.md, "Fixed
// window".
#include "quota/window.hpp"

namespace penstock::quotas::fixed_window {
namespace {

struct counted {
  std::int64_t count = 0;
  window at;
  std::int64_t end_after = 0;

  counted(const compiled& q, window w, std::int64_t now) noexcept
      : count(q.capacity - q.burst), at(w), end_after(w.end(q.period) - now) {}

  [[nodiscard]] std::int64_t remaining() const noexcept {
    return std::max<std::int64_t>(0, count - at.used);
  }
  [[nodiscard]] std::int64_t wait_for(std::int64_t k) const noexcept {
    return k <= count - at.used ? 0 : end_after;
  }
  [[nodiscard]] std::int64_t reset() const noexcept { return at.used > 0 ? end_after : 0; }
};

state pack(const window& base, const window& burst) noexcept {
  return {.present = true, .w = {base.index, base.used, burst.index, burst.used, 0}};
}

}  // namespace

outcome take(const compiled& q, const state& prior, std::int64_t now, std::int64_t cost) noexcept {
  const state s = prior.present ? prior : state{};
  counted base{q, roll(s.w[0], s.w[1], now, q.period), now};
  burst_part burst = roll_burst(q, s.w[2], s.w[3], now);
  const std::int64_t left = base.remaining();
  const bool admitted = cost <= q.capacity && cost <= left + burst.remaining;
  if (admitted && cost > 0) {
    const std::int64_t from_base = std::min(cost, left);
    base.at.used += from_base;
    burst = charge_burst(q, burst, cost - from_base, now);
  }
  outcome out{prior, cost > 0 && (admitted || base.at.moved || burst.at.moved),
              report(q, base, burst)};
  if (out.changed) out.next = pack(base.at, burst.at);
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
  window base = roll(s.w[0], s.w[1], now, q.period);
  burst_part burst = roll_burst(q, s.w[2], s.w[3], now);
  const std::int64_t index = floor_div(charged_at, q.period);
  const bool in_base = index == base.index;
  const std::int64_t count = q.capacity - q.burst;
  refund_split back;
  if (q.burst == 0) {
    back.base = in_base ? std::min(cost, base.used) : 0;
  } else {
    const std::int64_t burst_index = floor_div(charged_at, q.burst_period);
    const bool in_burst = burst_index == burst.at.index;
    const bool burst_first = (burst_index + 1) * q.burst_period <= (index + 1) * q.period;
    back = split_refund(cost, burst_first, in_base ? base.used : count,
                        in_burst ? burst.at.used : q.burst);
    if (!in_base) back.base = 0;
    if (!in_burst) back.burst = 0;
  }
  base.used -= back.base;
  burst = charge_burst(q, burst, -back.burst, now);
  outcome out{prior, back.base + back.burst > 0, report(q, counted{q, base, now}, burst)};
  if (out.changed) out.next = pack(base, burst.at);
  out.result.admitted = true;
  return out;
}

std::int64_t expires_at(const compiled& q, const state& s) noexcept {
  const std::int64_t base_end = s.w[1] > 0 ? end_of(s.w[0], 1, q.period) : 0;
  const std::int64_t burst_end = q.burst > 0 && s.w[3] > 0 ? end_of(s.w[2], 1, q.burst_period) : 0;
  return std::max(base_end, burst_end);
}

}  // namespace penstock::quotas::fixed_window
