// The five algorithms once more, written from the rules in docs/algorithms.md and from nothing
// else: slow, exact, with fractions. No wait is calculated: retry_after, next_after and reset_after
// are searched for by asking the rules at later moments, which is what these words mean.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <vector>

#include <penstock/decision.hpp>
#include <penstock/quota.hpp>

#include "quota/testdata/ratio.hpp"

namespace penstock::quotas::testdata {

class model {
 public:
  // `tick_us`: the quota's tick; times below count in it.
  model(const quota& q, std::int64_t tick_us) { change(q, tick_us); }

  void change(const quota& q, std::int64_t tick_us) {
    q_ = q;
    tick_us_ = tick_us;
    period_ = q.period.count() / tick_us;
    burst_ = is_window() && q.count > 0 ? q.burst.value_or(0) : 0;
    burst_period_ = burst_ == 0 ? 1 : q.burst_window.value_or(q.period).count() / tick_us;
    rate_ = ratio{q.count, period_};
    longest_wait_ = 0;
    if (q.count == 0) {
      capacity_ = 0;
    } else if (q.kind == algorithm::token_bucket) {
      capacity_ = q.burst.value_or(q.count);
      full_ = capacity_;
    } else if (q.kind == algorithm::leaky_bucket) {
      longest_wait_ = q.queue;
      if (q.max_delay) {
        const ratio by_delay = ratio{q.max_delay->count() / tick_us} * rate_ + ratio{q.undelayed};
        if (by_delay < longest_wait_) longest_wait_ = by_delay;
      }
      capacity_ = longest_wait_.floor() + 1;
      full_ = longest_wait_ + ratio{capacity_};
    } else {
      capacity_ = q.count + burst_;
    }
  }

  verdict take(std::int64_t now, std::int64_t cost) { return decide(now, cost, true); }
  verdict peek(std::int64_t now, std::int64_t cost) { return decide(now, cost, false); }

  void refund(std::int64_t now, std::int64_t charged_at, std::int64_t cost) {
    if (capacity_ == 0) return;
    contents s = held_;
    const bool moved = settle(s, now);
    if (is_log())
      s.log = held_.log;  // units charged later than now still count, and can be taken back
    if (is_debt()) {
      if (!s.present) return;
      const ratio used = debt_at(s, now);
      if (q_.kind == algorithm::leaky_bucket) {
        if (moved || s.last != charged_at || !s.last_alone) return;
      }
      const ratio back = std::min(cost, capacity_);
      const ratio after = used < back ? ratio{} : used - back;
      if (after == used) return;
      write_debt(s, now, after);
      s.last = charged_at;
      s.last_alone = false;
      held_ = s;
      return;
    }
    // With a burst it is unknown which counter was charged: the one that ends first gives back
    // first, and a window that is over swallows what it may have been charged.
    const std::int64_t in_burst_window = floor_of(charged_at, burst_period_);
    const window burst = burst_at(s, now);
    const bool burst_is_current = burst_ > 0 && burst.index == in_burst_window;
    const std::int64_t burst_share = burst_ == 0 ? 0 : burst_is_current ? burst.used : burst_;
    const bool burst_first =
        burst_ > 0 && (in_burst_window + 1) * burst_period_ <= base_end_of_charge(charged_at);
    std::int64_t rest = cost;
    std::int64_t from_burst = 0;
    if (burst_first) {
      from_burst = std::min(rest, burst_share);
      rest -= from_burst;
    }
    rest -= refund_base(s, now, charged_at, rest);
    if (burst_ > 0 && !burst_first) from_burst = std::min(rest, burst_share);
    if (burst_is_current && from_burst > 0) {
      s.burst = burst;
      s.burst.used -= from_burst;
    }
    // A refund that gives nothing back stores nothing, not even a clock step.
    if (!base_changed_ && !(burst_is_current && from_burst > 0)) return;
    if (is_log()) {
      held_.log = s.log;
      if (burst_is_current && from_burst > 0) held_.burst = s.burst;
    } else {
      held_ = s;
      keep_current(held_, now);
    }
  }

 private:
  struct window {
    std::int64_t index = 0;
    std::int64_t used = 0;
  };

  struct contents {
    // Token bucket, queue: units used at a moment, at a rate, counted in a tick.
    bool present = false;
    ratio used;
    std::int64_t at = 0;
    ratio rate;
    std::int64_t tick_us = 1;
    std::int64_t last = std::numeric_limits<std::int64_t>::min();
    bool last_alone = false;
    // Windows.
    window base;
    std::int64_t previous = 0;
    window burst;
    std::vector<std::int64_t> log;  // one element per unit
  };

  static std::int64_t floor_of(std::int64_t a, std::int64_t b) { return ratio{a, b}.floor(); }
  [[nodiscard]] bool is_debt() const {
    return q_.kind == algorithm::token_bucket || q_.kind == algorithm::leaky_bucket;
  }
  [[nodiscard]] bool is_window() const { return !is_debt(); }
  [[nodiscard]] bool is_log() const { return q_.kind == algorithm::sliding_window_log; }
  [[nodiscard]] bool is_counter() const { return q_.kind == algorithm::sliding_window_counter; }

  // ---- token bucket and queue -------------------------------------------------------------------
  [[nodiscard]] ratio debt_at(const contents& s, std::int64_t now) const {
    if (!s.present) return 0;
    const ratio used = s.used + ratio{s.at - now} * s.rate;
    return used < ratio{} ? ratio{} : used;
  }
  void write_debt(contents& s, std::int64_t now, const ratio& used) const {
    s.present = true;
    s.used = used;
    s.at = now;
    s.rate = rate_;
    s.tick_us = tick_us_;
  }

  // ---- windows ----------------------------------------------------------------------------------
  static window window_at(const window& w, std::int64_t now, std::int64_t period) {
    const std::int64_t current = floor_of(now, period);
    if (w.used == 0 || w.index < current) return {current, 0};
    return w;
  }
  [[nodiscard]] window burst_at(const contents& s, std::int64_t now) const {
    return burst_ == 0 ? s.burst : window_at(s.burst, now, burst_period_);
  }

  // Both windows of the counter, and how far the current one has run.
  struct pair {
    std::int64_t index = 0;
    std::int64_t current = 0;
    std::int64_t previous = 0;
    std::int64_t elapsed = 0;
  };
  [[nodiscard]] pair pair_at(const contents& s, std::int64_t now) const {
    const std::int64_t i = floor_of(now, period_);
    const std::int64_t current = std::min(s.base.used, q_.count);
    const std::int64_t previous = std::min(s.previous, q_.count);
    pair p{i, 0, 0, now - i * period_};
    if (current == 0 && previous == 0) return p;
    if (s.base.index == i + 1) return {i + 1, current, previous, 0};
    if (s.base.index == i) return {i, current, previous, p.elapsed};
    if (s.base.index == i - 1) p.previous = current;
    return p;
  }

  // ---- log --------------------------------------------------------------------------------------
  [[nodiscard]] static std::int64_t log_now(const contents& s, std::int64_t now) {
    return s.log.empty() ? now : std::max(now, s.log.back());
  }
  void forget_expired(contents& s, std::int64_t now) const {
    const std::int64_t oldest = log_now(s, now) - period_;
    std::erase_if(s.log, [&](std::int64_t t) { return t <= oldest; });
  }

  // ---- rules common to all ----------------------------------------------------------------------
  // What a clock that went back, or another rate, makes of the stored state. True when that changes
  // it.
  bool settle(contents& s, std::int64_t now) const {
    if (capacity_ == 0) return false;
    if (is_debt()) return settle_debt(s, now);
    bool moved = false;
    const std::int64_t burst_window = floor_of(now, burst_period_);
    if (burst_ > 0 && s.burst.used > 0 && s.burst.index > burst_window + 1) {
      s.burst.index = burst_window;
      moved = true;
    }
    if (is_log()) {
      if (!s.log.empty() && s.log.back() - now > period_) {
        for (std::int64_t& t : s.log) t = std::min(t, now);
        forget_expired(s, now);
        moved = true;
      }
      return moved;
    }
    const std::int64_t i = floor_of(now, period_);
    if ((s.base.used > 0 || s.previous > 0) && s.base.index > i + 1) {
      s.base.index = i;
      if (is_counter()) {
        s.base.used =
            std::min(q_.count, std::min(s.base.used, q_.count) + std::min(s.previous, q_.count));
      }
      s.previous = 0;
      moved = true;
    }
    return moved;
  }

  bool settle_debt(contents& s, std::int64_t now) const {
    if (!s.present) return false;
    if (s.rate == rate_ && s.tick_us == tick_us_) {
      if (debt_at(s, now) <= full_) return false;
      write_debt(s, now, full_);
    } else {
      const std::int64_t then = floor_of(now * tick_us_, s.tick_us);
      ratio used = debt_at(s, then).ceil();
      // So far ahead only after the clock went back: further than can be counted means all used.
      const std::int64_t ahead = (ratio{s.at} + s.used / s.rate).floor() - then;
      if (ahead > (std::int64_t{1} << 53U) / s.rate.numerator() - 1) used = full_;
      write_debt(s, now, used < full_ ? used : full_);
      if (used == ratio{}) return false;
    }
    s.last = now;
    s.last_alone = false;
    return true;
  }

  // What is stored is stored as of now: windows that are over are forgotten.
  void keep_current(contents& s, std::int64_t now) const {
    if (is_debt()) return;
    if (burst_ > 0) s.burst = burst_at(s, now);
    if (is_log()) {
      forget_expired(s, now);
    } else if (is_counter()) {
      const pair p = pair_at(s, now);
      s.base = {p.index, p.current};
      s.previous = p.previous;
    } else {
      s.base = window_at(s.base, now, period_);
    }
  }

  [[nodiscard]] std::int64_t base_left(const contents& s, std::int64_t now) const {
    if (is_log()) {
      const std::int64_t oldest = log_now(s, now) - period_;
      const auto live =
          std::count_if(s.log.begin(), s.log.end(), [&](std::int64_t t) { return t > oldest; });
      return std::max<std::int64_t>(0, q_.count - live);
    }
    if (is_counter()) {
      const pair p = pair_at(s, now);
      const ratio estimate = ratio{p.previous} * ratio{period_ - p.elapsed, period_} + p.current;
      return std::max<std::int64_t>(0, (ratio{q_.count} - estimate).floor());
    }
    return std::max<std::int64_t>(0, q_.count - window_at(s.base, now, period_).used);
  }
  [[nodiscard]] std::int64_t burst_left(const contents& s, std::int64_t now) const {
    return burst_ == 0 ? 0 : std::max<std::int64_t>(0, burst_ - burst_at(s, now).used);
  }

  [[nodiscard]] std::int64_t left(const contents& s, std::int64_t now) const {
    if (q_.kind == algorithm::token_bucket) return (ratio{capacity_} - debt_at(s, now)).floor();
    if (q_.kind == algorithm::leaky_bucket) {
      const ratio room = longest_wait_ + ratio{1} - debt_at(s, now);
      return std::max<std::int64_t>(0, room.floor());
    }
    return base_left(s, now) + burst_left(s, now);
  }

  [[nodiscard]] bool fits(const contents& s, std::int64_t now, std::int64_t cost) const {
    if (cost > capacity_) return false;
    if (q_.kind == algorithm::leaky_bucket) return cost == 0 || debt_at(s, now) <= longest_wait_;
    return cost <= left(s, now);
  }

  [[nodiscard]] bool untouched(const contents& s, std::int64_t now) const {
    if (is_debt()) return debt_at(s, now) == ratio{};
    if (burst_ > 0 && burst_at(s, now).used > 0) return false;
    if (is_log()) return s.log.empty() || s.log.back() <= log_now(s, now) - period_;
    if (is_counter()) {
      const pair p = pair_at(s, now);
      return p.current == 0 && p.previous == 0;
    }
    return window_at(s.base, now, period_).used == 0;
  }

  void charge(contents& s, std::int64_t now, std::int64_t cost, bool moved) const {
    if (is_debt()) {
      const bool shared = moved || (s.present && s.last == now);
      write_debt(s, now, debt_at(s, now) + ratio{cost});
      s.last = now;
      s.last_alone = !shared;
      return;
    }
    const std::int64_t from_base = std::min(cost, base_left(s, now));
    keep_current(s, now);
    s.burst.used += cost - from_base;
    if (is_log()) {
      s.log.insert(s.log.end(), static_cast<std::size_t>(from_base), log_now(s, now));
    } else {
      s.base.used += from_base;
    }
  }

  verdict decide(std::int64_t now, std::int64_t cost, bool keep) {
    contents s = held_;
    const bool moved = settle(s, now);
    verdict v;
    v.limit = capacity_;
    v.never = cost > capacity_;
    v.admitted = cost == 0 || fits(s, now, cost);
    if (capacity_ == 0) return v;
    if (v.admitted && cost > 0) {
      if (q_.kind == algorithm::leaky_bucket) {
        const ratio waits = debt_at(s, now) - ratio{q_.undelayed};
        v.delay = wait((waits < ratio{} ? ratio{} : waits / rate_).ceil());
      }
      charge(s, now, cost, moved);
    }
    if (keep && cost > 0 && (v.admitted || moved)) {
      keep_current(s, now);
      held_ = s;
    }
    v.remaining = left(s, now);
    if (!v.admitted && !v.never) {
      v.retry_after = wait(first(now, [&](std::int64_t t) { return fits(s, t, cost); }));
    }
    if (v.remaining < capacity_) {
      v.next_after = wait(first(now, [&](std::int64_t t) { return left(s, t) > v.remaining; }));
    }
    v.reset_after = wait(first(now, [&](std::int64_t t) { return untouched(s, t); }));
    return v;
  }

  [[nodiscard]] duration wait(std::int64_t ticks) const { return duration{ticks * tick_us_}; }

  // The least d >= 0 with holds(now + d); `holds` stays true once it is.
  static std::int64_t first(std::int64_t now, const std::function<bool(std::int64_t)>& holds) {
    if (holds(now)) return 0;
    std::int64_t low = 0;
    std::int64_t high = 1;
    while (!holds(now + high)) {
      low = high;
      high *= 2;
      if (high > std::int64_t{1} << 55U) std::abort();
    }
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (holds(now + middle) ? high : low) = middle;
    }
    return high;
  }

  [[nodiscard]] std::int64_t base_end_of_charge(std::int64_t charged_at) const {
    if (is_log()) return charged_at + period_;
    return (floor_of(charged_at, period_) + (is_counter() ? 2 : 1)) * period_;
  }

  // Returns the part of `cost` that is settled with the base, whether or not it still counts there.
  std::int64_t refund_base(contents& s, std::int64_t now, std::int64_t charged_at,
                           std::int64_t cost) {
    base_changed_ = false;
    const std::int64_t index = floor_of(charged_at, period_);
    if (is_log()) {
      contents settled = s;
      settle(settled, now);
      if (charged_at <= log_now(settled, now) - period_) return std::min(cost, q_.count);
      std::int64_t back = 0;
      for (; back < cost; ++back) {
        const auto found = std::find(s.log.begin(), s.log.end(), charged_at);
        if (found == s.log.end()) break;
        s.log.erase(found);
      }
      base_changed_ = back > 0;
      return back;
    }
    std::int64_t* counted = nullptr;
    if (is_counter()) {
      keep_current(s, now);
      const pair p = pair_at(s, now);
      if (index == p.index) counted = &s.base.used;
      if (index == p.index - 1) counted = &s.previous;
    } else {
      s.base = window_at(s.base, now, period_);
      if (index == s.base.index) counted = &s.base.used;
    }
    if (counted == nullptr) return std::min(cost, q_.count);
    const std::int64_t back = std::min(cost, *counted);
    *counted -= back;
    base_changed_ = back > 0;
    return back;
  }

  quota q_;
  std::int64_t tick_us_ = 1;
  std::int64_t period_ = 1;
  std::int64_t capacity_ = 0;
  std::int64_t burst_ = 0;
  std::int64_t burst_period_ = 1;
  ratio rate_;
  ratio longest_wait_;
  ratio full_;
  bool base_changed_ = false;
  contents held_;
};

}  // namespace penstock::quotas::testdata
