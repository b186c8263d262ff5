#include "quota/accept.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "base/checked.hpp"
#include "quota/names.hpp"
#include "quota/tick.hpp"

namespace penstock::quotas {
namespace {

bool is_window(algorithm a) {
  return a != algorithm::token_bucket && a != algorithm::leaky_bucket;
}

std::string range_text(std::string_view field, const std::string& low, const std::string& high,
                       const std::string& got) {
  return std::string(field) + " must be " + low + " to " + high + ", is " + got;
}

// One step towards an accepted quota: the first field at fault, put right.
struct step {
  std::string text;
  quota next;
};

// Each returns a step when `field` is outside its range: `next` has it at the nearer end.
template <class Member>
std::optional<step> check_number(const quota& q, Member field, std::string_view name,
                                 std::int64_t low, std::int64_t high) {
  const std::int64_t got = q.*field;
  if (got >= low && got <= high) return std::nullopt;
  step s{range_text(name, std::to_string(low), std::to_string(high), std::to_string(got)), q};
  s.next.*field = std::clamp(got, low, high);
  return s;
}

std::optional<step> check_duration(const quota& q, std::optional<duration> quota::*field,
                                   std::string_view name, duration low, duration high) {
  const auto& got = q.*field;
  if (!got || (*got >= low && *got <= high)) return std::nullopt;
  step s{range_text(name, duration_text(low), duration_text(high), duration_text(*got)), q};
  s.next.*field = std::clamp(*got, low, high);
  return s;
}

std::optional<step> check_ranges(const quota& q) {
  if (auto s = check_number(q, &quota::count, "count", 0, count_max)) return s;
  if (q.period < period_min || q.period > period_max) {
    step s{range_text("period", duration_text(period_min), duration_text(period_max),
                      duration_text(q.period)),
           q};
    s.next.period = std::clamp(q.period, period_min, period_max);
    return s;
  }
  if (q.burst && (*q.burst < 0 || *q.burst > count_max)) {
    step s{range_text("burst", "0", std::to_string(count_max), std::to_string(*q.burst)), q};
    s.next.burst = std::clamp<std::int64_t>(*q.burst, 0, count_max);
    return s;
  }
  if (auto s = check_duration(q, &quota::burst_window, "burst_window", period_min, period_max)) {
    return s;
  }
  if (auto s = check_number(q, &quota::queue, "queue", 0, count_max - 1)) return s;
  if (auto s = check_number(q, &quota::undelayed, "undelayed", 0, count_max - 1)) return s;
  if (auto s = check_duration(q, &quota::max_delay, "max_delay", duration{0}, period_max)) return s;
  return check_number(q, &quota::max_entries, "max_entries", 1, max_entries_max);
}

step unused(const quota& q, std::string_view field, std::string_view why, quota next) {
  return {
      std::string(field) + " is not used by " + std::string(to_string(q.kind)) + std::string(why),
      next};
}

// Fields that the algorithm does not know: more likely a wrong algorithm than a superfluous line.
std::optional<step> check_unused(const quota& q) {
  quota next = q;
  if (q.kind == algorithm::leaky_bucket && q.burst) {
    next.burst.reset();
    return unused(q, "burst", ", where `queue` says how many may wait", next);
  }
  if (q.burst_window && !is_window(q.kind)) {
    next.burst_window.reset();
    return unused(q, "burst_window", "", next);
  }
  if (q.burst_window && !q.burst) {
    next.burst_window.reset();
    return step{"burst_window needs a burst", next};
  }
  if (q.kind != algorithm::leaky_bucket) {
    if (q.queue != 0) {
      next.queue = 0;
      return unused(q, "queue", ", only by leaky_bucket", next);
    }
    if (q.undelayed != 0) {
      next.undelayed = 0;
      return unused(q, "undelayed", ", only by leaky_bucket", next);
    }
    if (q.max_delay) {
      next.max_delay.reset();
      return unused(q, "max_delay", ", only by leaky_bucket", next);
    }
  }
  if (q.kind != algorithm::sliding_window_log && q.max_entries != quota{}.max_entries) {
    next.max_entries = quota{}.max_entries;
    return unused(q, "max_entries", ", only by sliding_window_log", next);
  }
  return std::nullopt;
}

std::optional<step> check_together(const quota& q) {
  quota next = q;
  if (q.undelayed > q.queue) {
    next.undelayed = q.queue;
    return step{"undelayed " + std::to_string(q.undelayed) + " is more than the queue of " +
                    std::to_string(q.queue),
                next};
  }
  if (q.kind == algorithm::sliding_window_log && q.count > q.max_entries) {
    next.kind = algorithm::sliding_window_counter;
    next.max_entries = quota{}.max_entries;
    return step{"count " + std::to_string(q.count) + " is more than max_entries " +
                    std::to_string(q.max_entries) +
                    ": a log keeps one entry per unit; sliding_window_counter keeps two numbers",
                next};
  }
  if (is_window(q.kind) && q.burst && *q.burst > count_max - q.count) {
    next.burst = count_max - q.count;
    return step{"count and burst together are more than " + std::to_string(count_max), next};
  }
  return std::nullopt;
}

// The count closest to `count` whose bucket of that size fits: count = d * k for a divisor d of the
// period makes the bucket k * period long in its own fine units. Ties go to the lower count.
std::int64_t nearest_bucket_count(std::int64_t count, std::int64_t period) {
  const std::int64_t k_max = distance_max / period;
  std::int64_t best = 1;
  const auto consider = [&](std::int64_t d) {
    for (const std::int64_t k : {count / d, count / d + 1}) {
      const std::int64_t candidate = d * std::clamp<std::int64_t>(k, 1, k_max);
      const std::int64_t gap = std::abs(candidate - count) - std::abs(best - count);
      if (gap < 0 || (gap == 0 && candidate < best)) best = candidate;
    }
  };
  for (std::int64_t d = 1; d <= period / d; ++d) {
    if (period % d != 0) continue;
    consider(d);
    consider(period / d);
  }
  return best;
}

// Units of the given rate that a bucket or a queue can hold at the coarsest tick.
std::int64_t most_units(const quota& q) {
  const std::int64_t period = q.period.count() / coarsest_tick_us(q);
  const std::int64_t unit_num = std::max<std::int64_t>(1, period / std::gcd(period, q.count));
  return std::min(distance_max / unit_num, mul_div_floor(distance_max, q.count, q.period.count()));
}

std::optional<step> check_tick(const quota& q) {
  if (compile_exact(q)) return std::nullopt;
  step s{rate_text(q.count, q.period), q};
  const std::int64_t period = q.period.count() / coarsest_tick_us(q);
  switch (q.kind) {
    case algorithm::token_bucket:
      if (q.burst) {
        s.text = "burst " + std::to_string(*q.burst) + " at " + s.text;
        s.next.burst = most_units(q);
      } else {
        s.next.count = nearest_bucket_count(q.count, period);
      }
      break;
    case algorithm::leaky_bucket:
      s.text = "queue " + std::to_string(q.queue) + " at " + s.text;
      s.next.queue = (most_units(q) - 1) / 2;
      break;
    default:
      s.next.count = exact_max / period;
      break;
  }
  s.text += " cannot be counted without rounding";
  return s;
}

std::optional<step> first_step(const quota& q) {
  if (auto s = check_ranges(q)) return s;
  if (auto s = check_unused(q)) return s;
  if (auto s = check_together(q)) return s;
  return check_tick(q);
}

}  // namespace

std::optional<problem> find_problem(const quota& q) {
  auto s = first_step(q);
  if (!s) return std::nullopt;
  problem p{std::move(s->text), s->next};
  while ((s = first_step(p.nearest))) p.nearest = s->next;
  return p;
}

}  // namespace penstock::quotas
