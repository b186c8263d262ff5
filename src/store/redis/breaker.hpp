// The circuit breaker of one node: after failures it stays away from the node, asks it now and then
// whether it serves again, and lets requests through once it has. A sans-I/O machine: time and
// randomness are arguments, so every path is a unit test. Not thread-safe.
//
// Opens after `failures_to_open` in a row, or when at least half of at least `calls_to_judge` calls
// within `judged` failed, or at once by trip(). While open one probe at a time, first after
// `first_pause`, doubling up to `longest_pause`, each shortened by up to half at random so that a
// fleet does not come back in step. Closes after `good_to_close` good probes.
#pragma once

#include <chrono>
#include <cstdint>

namespace penstock::store::redis {

class breaker {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  using milliseconds = std::chrono::milliseconds;

  static constexpr int failures_to_open = 5;
  static constexpr int calls_to_judge = 20;
  static constexpr milliseconds judged{100};
  static constexpr milliseconds first_pause{250};
  static constexpr milliseconds longest_pause{800};
  static constexpr milliseconds pause_between_good{10};
  static constexpr int good_to_close = 3;

  [[nodiscard]] bool closed() const noexcept { return closed_; }

  // Of requests. `random`: uniform in 64 bits. Return true when this opened the breaker.
  void succeeded(time_point now) noexcept;
  bool failed(time_point now, std::uint64_t random) noexcept;
  bool trip(time_point now, std::uint64_t random) noexcept;  // cannot be served at all, for example
                                                             // because nobody listens

  // While open: when to probe next; meaningless while a probe is under way.
  [[nodiscard]] time_point next_probe() const noexcept { return next_probe_; }
  bool probe_succeeded(time_point now) noexcept;  // true when this closed the breaker
  void probe_failed(time_point now, std::uint64_t random) noexcept;

 private:
  void count(time_point now, bool failure) noexcept;
  void schedule(time_point now, std::uint64_t random) noexcept;

  bool closed_ = true;
  int failures_in_row_ = 0;
  int calls_ = 0;  // since judging_since_
  int failures_ = 0;
  int good_probes_ = 0;
  milliseconds pause_ = first_pause;
  time_point judging_since_{};
  time_point next_probe_{};
};

}  // namespace penstock::store::redis
