// The token bucket's decision on how far ahead its stored time is, without the state around it: so
// that a store which keeps that time in one word decides on the word. Inline: it runs once per
// charge on the request path. Pure; `capacity` > 0. docs/algorithms.md, "Token bucket".
#pragma once

#include <cstdint>

#include "quota/algorithms.hpp"
#include "quota/schedule.hpp"

namespace penstock::quotas::token_bucket {

inline void report(const compiled& q, std::int64_t ahead, verdict& v) noexcept {
  const std::int64_t remaining = (q.full - ahead) / q.unit_num;
  v.limit = q.capacity;
  v.remaining = remaining;
  v.reset_after = as_duration(q, ticks_until(q, ahead, 0));
  v.next_after = {};
  if (remaining < q.capacity) {
    v.next_after = as_duration(q, ticks_until(q, ahead, q.full - (remaining + 1) * q.unit_num));
  }
  v.delay = {};
}

// What is to be stored when `changed`.
struct spent {
  std::int64_t ahead;
  bool changed;
};

// Fills every field of `v`.
[[nodiscard]] inline spent decide(const compiled& q, distance d, std::int64_t cost,
                                  verdict& v) noexcept {
  v.never = cost > q.capacity;
  v.admitted = !v.never && cost * q.unit_num <= q.full - d.ahead;
  v.retry_after = {};
  if (v.admitted) {
    const std::int64_t ahead = d.ahead + cost * q.unit_num;
    report(q, ahead, v);
    return {ahead, cost > 0};
  }
  report(q, d.ahead, v);
  if (!v.never) {
    v.retry_after = as_duration(q, ticks_until(q, d.ahead, q.full - cost * q.unit_num));
  }
  return {d.ahead, d.moved};
}

// The distance of a stored time that counts 1/unit_den ticks, as does `now`: load() without the
// state.
[[nodiscard]] inline distance distance_of(const compiled& q, std::int64_t time,
                                          std::int64_t now) noexcept {
  const std::int64_t ahead = time - now;
  if (ahead < 0) return {};
  if (ahead > q.full) return {q.full, true};
  return {ahead, false};
}

}  // namespace penstock::quotas::token_bucket
