// One event loop: an io_context for one thread, its clock and its two wheels of deadlines. Every
// object of a connection lives on one loop and is touched by its thread only; `post` is the one
// call that other threads may make, besides `stop`.
#pragma once

#include <cstdint>
#include <functional>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <penstock/clock.hpp>

#include "net/timer_wheel.hpp"

namespace penstock::net {

class loop {
 public:
  // `clock` is the process clock and must outlive the loop.
  explicit loop(const steady_wall_clock& clock);
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;

  // Runs until stop(). Keeps running when nothing is to be done.
  void run();
  void stop();

  // Runs `work` on the loop's thread. Thread-safe; allocates.
  void post(std::function<void()> work);

  [[nodiscard]] boost::asio::io_context& context() noexcept { return context_; }

  // The time of decisions: microseconds, read anew by each call (about 30 ns).
  [[nodiscard]] instant now() const { return clock_.now(); }
  // Milliseconds for deadlines; up to 4 ms behind, about 7 ns.
  [[nodiscard]] static timer_wheel::milliseconds coarse_now() noexcept;
  // Milliseconds on the same scale, exact.
  [[nodiscard]] static timer_wheel::milliseconds exact_now() noexcept;
  // Wall-clock seconds for Date fields; about 7 ns.
  [[nodiscard]] static std::int64_t wall_seconds() noexcept;

  // Coarse deadlines (20 ms) for connections. `e` fires on this loop.
  void arm(timer_wheel::entry& e, timer_wheel::milliseconds deadline);
  void disarm(timer_wheel::entry& e) noexcept { coarse_.wheel.disarm(e); }

  // Exact to a millisecond, for requests that a queue holds back.
  void arm_fine(timer_wheel::entry& e, timer_wheel::milliseconds deadline);
  void disarm_fine(timer_wheel::entry& e) noexcept { fine_.wheel.disarm(e); }

 private:
  struct driven_wheel {
    driven_wheel(boost::asio::io_context& context, timer_wheel::milliseconds slot);
    void arm(timer_wheel::entry& e, timer_wheel::milliseconds deadline);
    void schedule();
    void expired();

    timer_wheel wheel;
    boost::asio::steady_timer timer;
    timer_wheel::milliseconds timer_at = timer_wheel::never_due;  // what the timer is set to
    bool waiting = false;
    bool advancing = false;
  };

  const steady_wall_clock& clock_;
  boost::asio::io_context context_;
  driven_wheel coarse_;
  driven_wheel fine_;
};

}  // namespace penstock::net
