#include "quota/tick.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/checked.hpp"

namespace penstock::quotas {
namespace {

constexpr std::array<std::int64_t, 3> ticks_us{1, 1'000, 1'000'000};

// a * b, or `distance_max + 1` when it is above distance_max.
std::int64_t capped_product(std::int64_t a, std::int64_t b) {
  return product_within(a, b, distance_max) ? a * b : distance_max + 1;
}

void set_rate(compiled& q, std::int64_t tick_code) {
  const std::int64_t divisor = std::gcd(q.period, q.source.count);
  q.unit_num = q.period / divisor;
  q.unit_den = q.source.count / divisor;
  q.rate_tag = q.unit_num * 4 + tick_code;
}

// Also in microseconds the whole distance stays within 2^52, so that every wait can be told.
bool set_full(compiled& q, std::int64_t full) {
  q.full = full;
  return full <= distance_max && product_within(full / q.unit_den, q.tick_us, distance_max);
}

bool fit_bucket(compiled& q) {
  q.capacity = q.source.burst.value_or(q.source.count);
  return set_full(q, capped_product(q.capacity, q.unit_num));
}

bool fit_queue(compiled& q) {
  q.undelayed = q.source.undelayed;
  q.max_wait = capped_product(q.source.queue, q.unit_num);
  if (q.source.max_delay) {
    q.max_delay = q.source.max_delay->count() / q.tick_us;
    q.max_wait = std::min(q.max_wait, capped_product(q.max_delay, q.unit_den) +
                                          capped_product(q.undelayed, q.unit_num));
  }
  if (q.max_wait > distance_max) return false;
  q.queue = q.max_wait / q.unit_num;
  q.capacity = q.queue + 1;
  const std::int64_t service = capped_product(q.capacity, q.unit_num);
  const std::int64_t undelayed = std::min(capped_product(q.undelayed, q.unit_num), q.max_wait);
  q.max_delay = ceil_div(q.max_wait - undelayed, q.unit_den);
  return set_full(q, q.max_wait + service);
}

bool fit_window(compiled& q) {
  q.burst = q.source.burst.value_or(0);
  q.burst_period = q.burst == 0 ? 0 : q.source.burst_window.value_or(q.source.period).count();
  if (q.burst_period % q.tick_us != 0) return false;
  q.burst_period /= q.tick_us;
  q.capacity = q.source.count + q.burst;
  return q.source.kind != algorithm::sliding_window_counter ||
         product_within(q.source.count, q.period, exact_max);
}

}  // namespace

std::int64_t coarsest_tick_us(const quota& q) {
  const std::int64_t both = std::gcd(q.period.count(), q.burst_window.value_or(q.period).count());
  for (std::size_t k = ticks_us.size(); k-- > 1;) {
    if (both % ticks_us[k] == 0) return ticks_us[k];
  }
  return ticks_us[0];
}

std::optional<compiled> compile_exact(const quota& source) {
  for (std::size_t k = 0; k < ticks_us.size(); ++k) {
    if (source.period.count() % ticks_us[k] != 0) continue;
    compiled q;
    q.source = source;
    q.tick_us = ticks_us[k];
    q.period = source.period.count() / q.tick_us;
    if (source.count == 0) {  // denies everything, whatever else is written
      q.unit_num = q.period;
      q.rate_tag = q.unit_num * 4 + static_cast<std::int64_t>(k);
      return q;
    }
    set_rate(q, static_cast<std::int64_t>(k));
    const bool fits = source.kind == algorithm::token_bucket   ? fit_bucket(q)
                      : source.kind == algorithm::leaky_bucket ? fit_queue(q)
                                                               : fit_window(q);
    if (fits) return q;
  }
  return std::nullopt;
}

}  // namespace penstock::quotas
