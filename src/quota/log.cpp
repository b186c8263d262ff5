#include "quota/log.hpp"

#include "quota/window.hpp"

namespace penstock::quotas {
namespace {

// The log as it is at `now`: expired entries left out and, after a clock that went back, either the
// newest entry taken for now (at most one window ahead) or later entries stamped now.
struct log_view {
  const log_state* log = nullptr;
  std::int64_t count = 0;
  std::int64_t period = 0;
  std::int64_t real = 0;     // waits count from it
  std::int64_t decides = 0;  // the tick that is decided at, and charged
  bool moved = false;        // entries later than now are to be stamped now
  std::size_t first = 0;     // oldest entry that counts
  std::int64_t used = 0;
  std::int64_t charged = 0;  // by this request, at `decides`; not in the log yet

  log_view(const compiled& q, const log_state& s, std::int64_t now) noexcept
      : log(&s), count(q.capacity - q.burst), period(q.period), real(now), decides(now) {
    used = s.total();
    if (s.size() == 0) return;
    const std::int64_t newest = s.at(s.size() - 1).tick;
    if (newest > now) {
      moved = newest - now > period;
      if (!moved) decides = newest;
    }
    while (first < s.size() && tick(first) <= decides - period) used -= s.at(first++).units;
  }

  [[nodiscard]] std::int64_t tick(std::size_t i) const noexcept {
    const std::int64_t stored = log->at(i).tick;
    return moved ? std::min(stored, real) : stored;
  }

  [[nodiscard]] std::int64_t remaining() const noexcept {
    return std::max<std::int64_t>(0, count - used - charged);
  }

  [[nodiscard]] std::int64_t wait_for(std::int64_t k) const noexcept {
    std::int64_t must_leave = used + charged + k - count;
    if (must_leave <= 0) return 0;
    for (std::size_t i = first; i < log->size(); ++i) {
      must_leave -= log->at(i).units;
      if (must_leave <= 0) return tick(i) + period - real;
    }
    return decides + period - real;
  }

  [[nodiscard]] std::int64_t reset() const noexcept {
    if (charged > 0) return decides + period - real;
    return used > 0 ? tick(log->size() - 1) + period - real : 0;
  }
};

// The whole decision. Admitted: `base.charged` and `burst` are what the charge makes of them.
struct decision {
  log_view base;
  burst_part burst;
  bool admitted = false;
  verdict result;

  decision(const compiled& q, const log_state& s, std::int64_t now, std::int64_t cost) noexcept
      : base(q, s, now), burst(roll_burst(q, s.burst_index, s.burst_used, now)) {
    const std::int64_t left = base.remaining();
    admitted = cost <= q.capacity && cost <= left + burst.remaining;
    if (admitted) {
      base.charged = std::min(cost, left);
      burst = charge_burst(q, burst, cost - base.charged, now);
    }
    result = report(q, base, burst);
    result.admitted = admitted;
    result.never = cost > q.capacity;
    if (!admitted && !result.never) {
      result.retry_after = as_duration(q, retry_after(q, base, burst, cost));
    }
  }
};

verdict deny_all(std::int64_t cost) noexcept {
  verdict v;
  v.admitted = cost == 0;
  v.never = cost > 0;
  return v;
}

}  // namespace

verdict take(const compiled& q, log_state& s, std::int64_t now, std::int64_t cost) {
  if (q.capacity == 0) return deny_all(cost);
  const decision d{q, s, now, cost};
  const bool moved = d.base.moved || d.burst.at.moved;
  if (cost == 0 || (!d.admitted && !moved)) return d.result;

  s.drop_oldest(d.base.first);
  if (d.base.moved) s.stamp_back(now);
  if (d.base.charged > 0) {
    s.add(d.base.decides, d.base.charged, static_cast<std::size_t>(d.base.count));
  }
  s.burst_index = d.burst.at.index;
  s.burst_used = d.burst.at.used;
  return d.result;
}

verdict peek(const compiled& q, const log_state& s, std::int64_t now, std::int64_t cost) noexcept {
  if (q.capacity == 0) return deny_all(cost);
  return decision{q, s, now, cost}.result;
}

verdict refund(const compiled& q, log_state& s, std::int64_t now, std::int64_t charged_at,
               std::int64_t cost) noexcept {
  if (q.capacity == 0) return deny_all(0);
  const log_view base{q, s, now};
  const burst_part burst = roll_burst(q, s.burst_index, s.burst_used, now);
  const bool expired = charged_at <= base.decides - q.period;
  if (q.burst == 0) {
    if (!expired) s.remove(charged_at, cost);
    return peek(q, s, now, 0);
  }
  const std::int64_t index = floor_div(charged_at, q.burst_period);
  const bool in_burst = index == burst.at.index;
  const bool burst_first = (index + 1) * q.burst_period <= charged_at + q.period;
  std::int64_t rest = cost;
  if (burst_first) rest -= std::min(cost, in_burst ? burst.at.used : q.burst);
  rest -= expired ? std::min(rest, base.count) : s.remove(charged_at, rest);
  const std::int64_t back = std::min(burst_first ? cost : rest, burst.at.used);
  if (in_burst && back > 0) {
    s.burst_index = burst.at.index;
    s.burst_used = burst.at.used - back;
  }
  return peek(q, s, now, 0);
}

std::int64_t expires_at(const compiled& q, const log_state& s) noexcept {
  const std::int64_t base_end = s.size() > 0 ? s.at(s.size() - 1).tick + q.period : 0;
  const std::int64_t burst_end =
      q.burst > 0 && s.burst_used > 0 ? end_of(s.burst_index, 1, q.burst_period) : 0;
  return std::max(base_end, burst_end);
}

verdict take_denied(const compiled& q, log_state& s, std::int64_t now, std::int64_t cost) {
  const verdict before = peek(q, s, now, 0);
  (void)take(q, s, now, std::min(cost, before.remaining));
  const verdict again = peek(q, s, now, cost);
  if (!again.admitted) (void)take(q, s, now, cost);  // stores what a clock that went back moved
  verdict v = peek(q, s, now, 0);
  v.admitted = false;
  v.never = again.never;
  v.retry_after = again.retry_after;
  return v;
}

}  // namespace penstock::quotas
