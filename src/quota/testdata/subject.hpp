// One key under one quota, whatever its algorithm, for tests: stores what take() says is to be
// stored.
#pragma once

#include <cstdint>
#include <stdexcept>

#include <penstock/quota.hpp>

#include "quota/apply.hpp"
#include "quota/compiled.hpp"
#include "quota/log.hpp"

namespace penstock::quotas::testdata {

[[nodiscard]] inline compiled compile_or_throw(const quota& q) {
  auto c = compile(q);
  if (!c) throw std::invalid_argument(c.error().message);
  return *c;
}

class subject {
 public:
  explicit subject(const quota& q) : q_(compile_or_throw(q)) {}

  verdict take(instant now, std::int64_t cost) {
    const std::int64_t t = q_.ticks(now);
    if (is_log()) return quotas::take(q_, log_, t, cost);
    const outcome out = quotas::take(q_, state_, t, cost);
    if (out.changed) state_ = out.next;
    return out.result;
  }

  [[nodiscard]] verdict peek(instant now, std::int64_t cost) const {
    const std::int64_t t = q_.ticks(now);
    return is_log() ? quotas::peek(q_, log_, t, cost) : quotas::take(q_, state_, t, cost).result;
  }

  verdict refund(instant now, instant charged_at, std::int64_t cost) {
    if (is_log()) return quotas::refund(q_, log_, q_.ticks(now), q_.ticks(charged_at), cost);
    const outcome out = quotas::refund(q_, state_, q_.ticks(now), q_.ticks(charged_at), cost);
    if (out.changed) state_ = out.next;
    return out.result;
  }

  verdict take_denied(instant now, std::int64_t cost) {
    const std::int64_t t = q_.ticks(now);
    if (is_log()) return quotas::take_denied(q_, log_, t, cost);
    const outcome out = quotas::take_denied(q_, state_, t, cost);
    if (out.changed) state_ = out.next;
    return out.result;
  }

  [[nodiscard]] instant expires_at() const {
    const std::int64_t t = is_log() ? quotas::expires_at(q_, log_) : quotas::expires_at(q_, state_);
    return instant{duration{t * q_.tick_us}};
  }

  void change(const quota& q) { q_ = compile_or_throw(q); }  // as a reload: the state stays
  void set(const state& s) { state_ = s; }

  [[nodiscard]] const compiled& q() const { return q_; }
  [[nodiscard]] const state& stored() const { return state_; }
  [[nodiscard]] const log_state& log() const { return log_; }
  [[nodiscard]] duration tick() const { return duration{q_.tick_us}; }

 private:
  [[nodiscard]] bool is_log() const { return q_.source.kind == algorithm::sliding_window_log; }

  compiled q_;
  state state_;
  log_state log_;
};

}  // namespace penstock::quotas::testdata
