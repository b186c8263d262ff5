// limiter: one quota, many keys, counted in this process. The whole library for the common case:
//
//   auto made = penstock::limiter::create({.kind = penstock::algorithm::sliding_window_log,
//                                          .count = 5,
//                                          .period = std::chrono::minutes{1}});
//   penstock::limiter& logins = *made;
//   const penstock::verdict v = logins.check(user, clock.now());
//
// Thread-safe: every member may be called from any thread. Memory is bounded by `max_bytes`; when
// it is full, states that are full again go first, and a key that is being refused is never
// forgotten before its wait is over (docs/algorithms.md, "A full table").
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
  // Bytes for counters, 1 MiB .. what the machine has; taken as keys arrive, not at once. A key of
  // a token bucket or of a window without burst takes 16 to 28 of them, other keys about 120, a log
  // 16 more per unit taken. Errors of create(): invalid_argument below 1 MiB.
  std::size_t max_bytes = std::size_t{64} << 20U;
};

class limiter {
 public:
  // Errors: invalid_quota (see `validate`), invalid_argument (max_bytes too small). Reads 16 bytes
  // of randomness from the system: the secret that keys are hashed with.
  [[nodiscard]] static result<limiter> create(const quota& q, limiter_options options = {});

  // A moved-from limiter may only be assigned to or destroyed.
  limiter(limiter&&) noexcept;
  limiter& operator=(limiter&&) noexcept;
  ~limiter();

  // Takes `cost` units for `key` at `now`, or nothing when they do not fit. `key` may hold any
  // bytes and any length; it is hashed with a secret of this process and not kept. cost 0 reports
  // without counting; negative costs are treated as 0. `now` may run backwards: nobody is granted
  // anything by it. When the table is full of keys that are all being refused, a new key is refused
  // too, with the shortest of their waits. Does not block; allocates only for new keys and growing
  // logs (std::bad_alloc may pass). Constant work but for a log's refusals, which look at its
  // oldest units.
  verdict check(std::string_view key, instant now, std::int64_t cost = 1);

  // What check() would answer, without taking anything. As thread-safe as check().
  [[nodiscard]] verdict peek(std::string_view key, instant now, std::int64_t cost = 1) const;

  // Forgets what was counted for `key`: it is as if never seen. Unknown keys are fine.
  void reset(std::string_view key);

 private:
  struct impl;
  explicit limiter(std::unique_ptr<impl> p) noexcept;
  std::unique_ptr<impl> impl_;
};

}  // namespace penstock
