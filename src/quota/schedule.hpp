// One stored time, for token bucket and queue: how far ahead of `now` the units admitted so far
// reach. A distance counts 1/unit_den ticks, 0..full, so that one unit is unit_num of them,
// exactly. Pure and total: words that no take() wrote read as never seen. Source: GCRA as virtual
// scheduling, ITU-T I.371.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/checked.hpp"
#include "quota/compiled.hpp"

namespace penstock::quotas {

struct distance {
  std::int64_t ahead = 0;  // 0..full
  bool moved = false;      // clamped or converted: has to be stored, or no wait that we name holds
};

// Most rates count whole ticks: then nothing is divided.
[[nodiscard]] inline std::int64_t whole_ticks(const compiled& q, std::int64_t ahead) noexcept {
  return q.unit_den == 1 ? ahead : ahead / q.unit_den;
}

[[nodiscard]] inline bool same_rate(const compiled& q, const state& s) noexcept {
  return s.w[2] == q.rate_tag && s.w[3] == q.unit_den;
}

// The tick under which a time was stored, in microseconds; 0 when no take() wrote it.
[[nodiscard]] inline std::int64_t tick_us_of(const state& s) noexcept {
  constexpr std::int64_t tick_of[]{1, 1'000, 1'000'000, 0};
  return tick_of[s.w[2] & 3];
}

// A state of another rate: the units used there, rounded up, at this rate. Everything stays within
// 2^53: what is further ahead than that came from a clock that went back, and means "all used".
[[nodiscard]] inline distance convert(const compiled& q, const state& s,
                                      std::int64_t now) noexcept {
  const std::int64_t tick_us = tick_us_of(s);
  const std::int64_t unit_num = s.w[2] / 4;
  const std::int64_t unit_den = s.w[3];
  if (tick_us == 0 || unit_num <= 0 || unit_den <= 0) return {};
  if (s.w[1] < 0 || s.w[1] >= unit_den) return {};
  const std::int64_t then = floor_div(now * q.tick_us, tick_us);
  if (s.w[0] < then) return {};
  if (s.w[0] > then + exact_max / unit_den - 1) return {q.full, true};
  const std::int64_t used = ceil_div((s.w[0] - then) * unit_den + s.w[1], unit_num);
  if (used == 0) return {};
  return {used > q.full / q.unit_num ? q.full : used * q.unit_num, true};
}

[[nodiscard]] inline distance load(const compiled& q, const state& s, std::int64_t now) noexcept {
  if (!s.present) return {};
  if (!same_rate(q, s)) return convert(q, s, now);
  if (s.w[0] < now || s.w[1] < 0 || s.w[1] >= q.unit_den) return {};
  if (s.w[0] > now + whole_ticks(q, q.full)) return {q.full, true};
  const std::int64_t ahead = (s.w[0] - now) * q.unit_den + s.w[1];
  if (ahead > q.full) return {q.full, true};
  return {ahead, false};
}

[[nodiscard]] inline state store_distance(const compiled& q, std::int64_t now, std::int64_t ahead,
                                          std::int64_t last) noexcept {
  const std::int64_t ticks = whole_ticks(q, ahead);
  return {.present = true,
          .w = {now + ticks, ahead - ticks * q.unit_den, q.rate_tag, q.unit_den, last}};
}

// Whole ticks until a distance has shrunk to `to`; 0 when it has.
[[nodiscard]] inline std::int64_t ticks_until(const compiled& q, std::int64_t ahead,
                                              std::int64_t to) noexcept {
  const std::int64_t rest = std::max<std::int64_t>(0, ahead - to);
  return q.unit_den == 1 ? rest : ceil_div(rest, q.unit_den);
}

// The tick at which a stored time is over, in the ticks of `q`, rounded up.
[[nodiscard]] inline std::int64_t stored_time_ends(const compiled& q, const state& s) noexcept {
  const std::int64_t tick_us = same_rate(q, s) ? q.tick_us : tick_us_of(s);
  if (tick_us == 0) return 0;
  const std::int64_t most = 4 * exact_max / tick_us;
  const std::int64_t end = std::clamp(s.w[0], -most, most) + (s.w[1] > 0 ? 1 : 0);
  return std::max<std::int64_t>(0, ceil_div(end * tick_us, q.tick_us));
}

}  // namespace penstock::quotas
