// Deadlines for many connections at the price of a store each: a hashed wheel with intrusive
// entries. Time is an argument (milliseconds of any monotonic clock), so a test plays an hour in a
// microsecond. Not thread-safe: one wheel belongs to one event loop.
//
// An entry fires at the first advance() whose time has reached its deadline, never before, and late
// by less than one slot if advance() is called in time. Moving a deadline later costs one store.
#pragma once

#include <cstdint>
#include <memory>

namespace penstock::net {

class timer_wheel {
 public:
  using milliseconds = std::int64_t;

  // Put one into the object that waits; it must be disarmed before it is destroyed.
  class entry {
   public:
    using callback = void (*)(entry&);

    explicit entry(callback on_expiry, void* object = nullptr) noexcept
        : owner(object), on_expiry_(on_expiry) {}
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry();

    void* const owner;

    [[nodiscard]] bool armed() const noexcept { return deadline_ != never; }
    [[nodiscard]] milliseconds deadline() const noexcept { return deadline_; }

   private:
    friend class timer_wheel;
    static constexpr milliseconds never = INT64_MAX;

    void unlink() noexcept;

    callback on_expiry_;
    milliseconds deadline_ = never;
    std::int64_t linked_tick_ = 0;  // meaningful while linked
    timer_wheel* wheel_ = nullptr;  // not null while linked
    entry* next_ = nullptr;
    entry** previous_ = nullptr;
  };

  // `slot` in milliseconds, at least 1. `now` is where the wheel starts.
  timer_wheel(milliseconds slot, milliseconds now);
  timer_wheel(const timer_wheel&) = delete;
  timer_wheel& operator=(const timer_wheel&) = delete;
  ~timer_wheel();

  // A deadline in the past fires at the next advance(). Arming an armed entry moves its deadline.
  void arm(entry& e, milliseconds deadline) noexcept;
  void disarm(entry& e) noexcept { e.deadline_ = entry::never; }

  // Fires what is due at `now`; a callback may arm, disarm and destroy any entry, its own included.
  void advance(milliseconds now);

  // When advance() should be called next: `never_due` when nothing is linked.
  [[nodiscard]] milliseconds next_due() const noexcept;
  static constexpr milliseconds never_due = INT64_MAX;

  [[nodiscard]] bool empty() const noexcept { return linked_ == 0; }

 private:
  static constexpr std::int64_t slots = 1024;  // a power of two; with 20 ms a turn takes 20 s

  // The first tick at which `deadline` has been reached.
  [[nodiscard]] std::int64_t tick_of(milliseconds deadline) const noexcept;
  void link(entry& e, std::int64_t tick) noexcept;

  milliseconds slot_;
  std::int64_t tick_;  // the last tick that advance() dealt with
  std::int64_t linked_ = 0;
  std::unique_ptr<entry*[]> heads_;
};

}  // namespace penstock::net
