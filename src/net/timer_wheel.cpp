#include "net/timer_wheel.hpp"

#include <algorithm>

namespace penstock::net {

timer_wheel::entry::~entry() {
  unlink();
}

void timer_wheel::entry::unlink() noexcept {
  if (wheel_ == nullptr) return;
  *previous_ = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
  --wheel_->linked_;
  wheel_ = nullptr;
}

timer_wheel::timer_wheel(milliseconds slot, milliseconds now)
    : slot_(slot), tick_(now / slot), heads_(std::make_unique<entry*[]>(slots)) {}

timer_wheel::~timer_wheel() {
  for (std::int64_t i = 0; i < slots; ++i) {
    while (heads_[i] != nullptr) heads_[i]->unlink();
  }
}

std::int64_t timer_wheel::tick_of(milliseconds deadline) const noexcept {
  const std::int64_t tick = deadline <= 0 ? 0 : (deadline - 1) / slot_ + 1;
  return std::max(tick, tick_ + 1);
}

void timer_wheel::link(entry& e, std::int64_t tick) noexcept {
  entry*& head = heads_[tick & (slots - 1)];
  e.linked_tick_ = tick;
  e.wheel_ = this;
  e.next_ = head;
  e.previous_ = &head;
  if (head != nullptr) head->previous_ = &e.next_;
  head = &e;
  ++linked_;
}

void timer_wheel::arm(entry& e, milliseconds deadline) noexcept {
  e.deadline_ = deadline;
  const std::int64_t tick = tick_of(deadline);
  // Later than where it is linked: left there; the visit of that slot moves it on.
  if (e.wheel_ != nullptr && tick >= e.linked_tick_) return;
  e.unlink();
  link(e, tick);
}

void timer_wheel::advance(milliseconds now) {
  const std::int64_t last = now / slot_;
  if (last <= tick_) return;
  // After a long pause every slot is visited once at most.
  const std::int64_t first = std::max(tick_ + 1, last - slots + 1);
  tick_ = last;
  for (std::int64_t tick = first; tick <= last; ++tick) {
    // The list is taken off first, so that callbacks may change the slot.
    entry*& head = heads_[tick & (slots - 1)];
    if (head == nullptr) continue;
    entry* visiting = head;
    head = nullptr;
    visiting->previous_ = &visiting;
    while (visiting != nullptr) {
      entry& e = *visiting;
      const std::int64_t linked = e.linked_tick_;
      e.unlink();
      if (!e.armed()) continue;
      if (linked > last) {
        link(e, linked);  // of a later turn of the wheel
      } else if (e.deadline_ > now) {
        link(e, tick_of(e.deadline_));  // was moved later
      } else {
        e.deadline_ = entry::never;
        e.on_expiry_(e);
      }
    }
  }
}

timer_wheel::milliseconds timer_wheel::next_due() const noexcept {
  if (linked_ == 0) return never_due;
  for (std::int64_t tick = tick_ + 1; tick <= tick_ + slots; ++tick) {
    if (heads_[tick & (slots - 1)] != nullptr) return tick * slot_;
  }
  return (tick_ + slots) * slot_;
}

}  // namespace penstock::net
