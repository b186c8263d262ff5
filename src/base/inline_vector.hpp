// A vector of at most N elements inside the object: for work on the stack that must not allocate.
// Elements come to life one by one, so an empty one costs nothing. Not thread-safe.
#pragma once

#include <cassert>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

namespace penstock {

template <class T, std::size_t N>
class inline_vector {
 public:
  inline_vector() noexcept {}  // NOLINT: the storage stays raw by intent
  inline_vector(const inline_vector&) = delete;
  inline_vector& operator=(const inline_vector&) = delete;
  ~inline_vector() {
    if constexpr (!std::is_trivially_destructible_v<T>) std::destroy(begin(), end());
  }

  // Precondition: size() < N.
  template <class... Args>
  T& emplace_back(Args&&... args) {
    assert(size_ < N);
    T* made = ::new (static_cast<void*>(data() + size_)) T{std::forward<Args>(args)...};
    ++size_;
    return *made;
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
  [[nodiscard]] T* data() noexcept { return std::launder(reinterpret_cast<T*>(raw_)); }
  [[nodiscard]] const T* data() const noexcept {
    return std::launder(reinterpret_cast<const T*>(raw_));
  }
  T& operator[](std::size_t i) noexcept { return data()[i]; }
  const T& operator[](std::size_t i) const noexcept { return data()[i]; }
  [[nodiscard]] T* begin() noexcept { return data(); }
  [[nodiscard]] T* end() noexcept { return data() + size_; }
  [[nodiscard]] const T* begin() const noexcept { return data(); }
  [[nodiscard]] const T* end() const noexcept { return data() + size_; }

 private:
  std::size_t size_ = 0;
  alignas(T) std::byte raw_[N * sizeof(T)];  // NOLINT(bugprone-sizeof-expression): T may point
};

}  // namespace penstock
