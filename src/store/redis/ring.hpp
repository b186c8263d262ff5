// A queue in one block of memory that grows by doubling and is never given back: the commands that
// wait for their answers. Not thread-safe. T is cheap to copy.
#pragma once

#include <cstddef>
#include <vector>

namespace penstock::store::redis {

template <class T>
class ring {
 public:
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  // Preconditions of front, at and pop: the element exists.
  [[nodiscard]] T& front() noexcept { return slots_[first_]; }
  [[nodiscard]] T& at(std::size_t i) noexcept { return slots_[(first_ + i) & (slots_.size() - 1)]; }

  void push(const T& value) {
    if (size_ == slots_.size()) grow();
    slots_[(first_ + size_) & (slots_.size() - 1)] = value;
    ++size_;
  }
  void pop() noexcept {
    first_ = (first_ + 1) & (slots_.size() - 1);
    --size_;
  }
  void clear() noexcept { first_ = size_ = 0; }

 private:
  void grow() {
    std::vector<T> larger(slots_.empty() ? 16 : slots_.size() * 2);
    for (std::size_t i = 0; i < size_; ++i) larger[i] = at(i);
    slots_.swap(larger);
    first_ = 0;
  }

  std::vector<T> slots_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace penstock::store::redis
