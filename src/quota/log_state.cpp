#include <algorithm>
#include <utility>

#include "quota/log.hpp"

namespace penstock::quotas {

log_state::log_state(log_state&& other) noexcept
    : burst_index(other.burst_index),
      burst_used(std::exchange(other.burst_used, 0)),
      ring_(std::move(other.ring_)),
      slots_(std::exchange(other.slots_, 0)),
      first_(std::exchange(other.first_, 0)),
      size_(std::exchange(other.size_, 0)),
      total_(std::exchange(other.total_, 0)) {}

log_state& log_state::operator=(log_state&& other) noexcept {
  burst_index = other.burst_index;
  burst_used = std::exchange(other.burst_used, 0);
  ring_ = std::move(other.ring_);
  slots_ = std::exchange(other.slots_, 0);
  first_ = std::exchange(other.first_, 0);
  size_ = std::exchange(other.size_, 0);
  total_ = std::exchange(other.total_, 0);
  return *this;
}

log_state::log_state(const log_state& other)
    : burst_index(other.burst_index),
      burst_used(other.burst_used),
      ring_(other.slots_ > 0 ? std::make_unique<entry[]>(other.slots_) : nullptr),
      slots_(other.slots_),
      first_(other.first_),
      size_(other.size_),
      total_(other.total_) {
  std::copy_n(other.ring_.get(), slots_, ring_.get());
}

log_state& log_state::operator=(const log_state& other) {
  if (this != &other) *this = log_state(other);
  return *this;
}

void log_state::drop_oldest(std::size_t n) noexcept {
  for (std::size_t i = 0; i < n; ++i) total_ -= at(i).units;
  size_ -= n;
  first_ = size_ == 0 ? 0 : slot(n);
}

void log_state::stamp_back(std::int64_t tick) noexcept {
  std::int64_t moved = 0;
  while (size_ > 0 && at(size_ - 1).tick >= tick) {
    moved += at(size_ - 1).units;
    --size_;
  }
  if (moved == 0) return;
  ++size_;
  ring_[slot(size_ - 1)] = {tick, moved};
}

void log_state::add(std::int64_t tick, std::int64_t units, std::size_t most) {
  if (size_ > 0 && at(size_ - 1).tick == tick) {
    ring_[slot(size_ - 1)].units += units;
  } else {
    if (size_ == slots_) grow(most);
    ++size_;
    ring_[slot(size_ - 1)] = {tick, units};
  }
  total_ += units;
}

std::int64_t log_state::remove(std::int64_t tick, std::int64_t units) noexcept {
  std::size_t i = size_;
  while (i > 0 && at(i - 1).tick > tick) --i;
  if (i == 0 || at(i - 1).tick != tick) return 0;
  entry& found = ring_[slot(i - 1)];
  const std::int64_t taken = std::min(units, found.units);
  found.units -= taken;
  total_ -= taken;
  if (found.units == 0) {
    for (; i < size_; ++i) ring_[slot(i - 1)] = at(i);
    --size_;
  }
  return taken;
}

void log_state::grow(std::size_t most) {
  constexpr std::size_t first_slots = 4;
  const std::size_t wanted = std::min(std::max(first_slots, slots_ * 2), std::max(most, size_ + 1));
  auto larger = std::make_unique<entry[]>(wanted);
  for (std::size_t i = 0; i < size_; ++i) larger[i] = at(i);
  ring_ = std::move(larger);
  slots_ = wanted;
  first_ = 0;
}

}  // namespace penstock::quotas
