// limiter: one quota, many keys, counted in this process. The whole library for the common case:
//
//   penstock::limiter logins{{.kind = penstock::algorithm::sliding_window_log, .count = 5,
//                             .period = std::chrono::minutes{1}}};
//   if (auto v = logins.check(user, clock.now()); !v.admitted) return too_many(v.retry_after);
//
// Thread-safe: every member may be called from any thread. Memory is bounded by `max_bytes`; when it
// is full, states that are full again go first, and a key that is being refused is never forgotten
// before its wait is over (docs/algorithms.md, "A full table").
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include <penstock/clock.hpp>
#include <penstock/decision.hpp>
#include <penstock/quota.hpp>
#include <penstock/result.hpp>

namespace penstock {

struct limiter_options {
  std::size_t max_bytes = 64U << 20U;  // table size; 1 MiB .. what the machine has
};

class limiter {
 public:
  // Errors: invalid_quota (see `validate`), invalid_argument (max_bytes too small).
  [[nodiscard]] static result<limiter> create(const quota& q, limiter_options options = {});

  limiter(limiter&&) noexcept;
  limiter& operator=(limiter&&) noexcept;
  ~limiter();

  // Takes `cost` units for `key` at `now`, or nothing when they do not fit. `key` may hold any bytes
  // and any length; it is hashed with a secret of this process and not kept. cost 0 reports without
  // counting; negative costs are treated as 0. `now` may run backwards: nobody is granted anything
  // by it. Does not block, does not allocate except for the log algorithm's growth.
  verdict check(std::string_view key, instant now, std::int64_t cost = 1);

  // What check() would answer, without taking anything.
  [[nodiscard]] verdict peek(std::string_view key, instant now, std::int64_t cost = 1) const;

  // Forgets what was counted for `key`.
  void reset(std::string_view key);

 private:
  struct impl;
  explicit limiter(std::unique_ptr<impl> p) noexcept;
  std::unique_ptr<impl> impl_;
};

}  // namespace penstock
