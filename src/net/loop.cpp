#include "net/loop.hpp"

#include <chrono>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <time.h>

namespace penstock::net {
namespace {

constexpr timer_wheel::milliseconds coarse_slot_ms = 20;
constexpr timer_wheel::milliseconds fine_slot_ms = 1;

timespec read_clock(clockid_t id) noexcept {
  timespec t{};
  clock_gettime(id, &t);
  return t;
}

timer_wheel::milliseconds to_ms(const timespec& t) noexcept {
  return t.tv_sec * 1000 + t.tv_nsec / 1'000'000;
}

}  // namespace

timer_wheel::milliseconds loop::coarse_now() noexcept {
  return to_ms(read_clock(CLOCK_MONOTONIC_COARSE));
}

timer_wheel::milliseconds loop::exact_now() noexcept {
  return to_ms(read_clock(CLOCK_MONOTONIC));
}

std::int64_t loop::wall_seconds() noexcept {
  return read_clock(CLOCK_REALTIME_COARSE).tv_sec;
}

loop::driven_wheel::driven_wheel(boost::asio::io_context& context, timer_wheel::milliseconds slot)
    : wheel(slot, exact_now()), timer(context) {}

void loop::driven_wheel::arm(timer_wheel::entry& e, timer_wheel::milliseconds deadline) {
  wheel.arm(e, deadline);
  // The timer is moved only for a deadline that is earlier than what it waits for, which on a busy
  // loop is rare: deadlines are seconds ahead and the wheel is visited often.
  if (!advancing && deadline < timer_at) schedule();
}

void loop::driven_wheel::schedule() {
  const auto due = wheel.next_due();
  if (due == timer_wheel::never_due) return;
  if (waiting && due >= timer_at) return;
  timer_at = due;
  waiting = true;
  timer.expires_at(std::chrono::steady_clock::time_point(std::chrono::milliseconds(due)));
  timer.async_wait([this](const boost::system::error_code& failed) {
    if (!failed) expired();
  });
}

void loop::driven_wheel::expired() {
  waiting = false;
  timer_at = timer_wheel::never_due;
  advancing = true;
  wheel.advance(exact_now());
  advancing = false;
  schedule();
}

// Only the loop's own thread touches its sockets, so Asio need not lock them; what other threads
// post is still locked.
loop::loop(const steady_wall_clock& clock)
    : clock_(clock),
      context_(BOOST_ASIO_CONCURRENCY_HINT_UNSAFE_IO),
      coarse_(context_, coarse_slot_ms),
      fine_(context_, fine_slot_ms) {}

void loop::run() {
  const auto guard = boost::asio::make_work_guard(context_);
  context_.run();
}

void loop::stop() {
  context_.stop();
}

void loop::post(std::function<void()> work) {
  boost::asio::post(context_, std::move(work));
}

void loop::arm(timer_wheel::entry& e, timer_wheel::milliseconds deadline) {
  coarse_.arm(e, deadline);
}

void loop::arm_fine(timer_wheel::entry& e, timer_wheel::milliseconds deadline) {
  fine_.arm(e, deadline);
}

}  // namespace penstock::net
