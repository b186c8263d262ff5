// Buffers of a few sizes, kept by their loop for the next user. A connection that waits holds a
// small one; only a body in flight takes a large one. Not thread-safe: one pool per loop; it must
// outlive its buffers.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace penstock::net {

class buffer_pool {
 public:
  static constexpr std::size_t smallest = 2U << 10U;
  static constexpr std::size_t largest = 64U << 10U;

  // At least `size` octets, at most `largest`; the size is stored back.
  std::unique_ptr<char[]> take(std::size_t& size) {
    const std::size_t index = class_of(size);
    size = smallest << index;
    auto& free = free_[index];
    if (free.empty()) return std::unique_ptr<char[]>(new char[size]);
    auto out = std::move(free.back());
    free.pop_back();
    return out;
  }

  void give(std::unique_ptr<char[]> octets, std::size_t size) {
    const std::size_t index = class_of(size);
    auto& free = free_[index];
    if ((free.size() + 1) * size <= kept_octets_max) free.push_back(std::move(octets));
  }

 private:
  static constexpr std::size_t kept_octets_max = 4U << 20U;  // of each size
  static constexpr std::size_t classes = 6;

  static std::size_t class_of(std::size_t size) {
    std::size_t index = 0;
    while (index + 1 < classes && (smallest << index) < size) ++index;
    return index;
  }

  std::array<std::vector<std::unique_ptr<char[]>>, classes> free_;
};

// A window of octets inside one pooled block: filled at the back, consumed at the front.
class buffer {
 public:
  explicit buffer(buffer_pool& pool) noexcept : pool_(&pool) {}
  buffer(buffer&& other) noexcept
      : pool_(other.pool_),
        octets_(std::move(other.octets_)),
        capacity_(std::exchange(other.capacity_, 0)),
        begin_(std::exchange(other.begin_, 0)),
        end_(std::exchange(other.end_, 0)) {}
  buffer& operator=(buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~buffer() { release(); }

  [[nodiscard]] std::string_view view() const noexcept {
    return {octets_.get() + begin_, end_ - begin_};
  }
  [[nodiscard]] std::size_t size() const noexcept { return end_ - begin_; }
  [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
  [[nodiscard]] char* back() noexcept { return octets_.get() + end_; }
  [[nodiscard]] std::size_t room() const noexcept { return capacity_ - end_; }

  void commit(std::size_t n) noexcept { end_ += n; }
  // Views into the block stay valid: nothing moves before rewind(), compact() or reserve().
  void consume(std::size_t n) noexcept { begin_ += n; }

  // An empty window starts at the front again. Not while a read into back() is under way.
  void rewind() noexcept {
    if (begin_ == end_) begin_ = end_ = 0;
  }

  // Moves the window to the front. Invalidates views.
  void compact() noexcept {
    if (begin_ == 0) return;
    std::memmove(octets_.get(), octets_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }

  // Room for `size` octets altogether, content kept at the front. Invalidates views.
  void reserve(std::size_t size) {
    if (capacity_ >= size) {
      compact();
      return;
    }
    std::size_t capacity = size;
    auto octets = pool_->take(capacity);
    const std::size_t held = end_ - begin_;
    if (held > 0) std::memcpy(octets.get(), octets_.get() + begin_, held);
    release();
    octets_ = std::move(octets);
    capacity_ = capacity;
    end_ = held;
  }

  // Gives the block back; the content is lost.
  void release() noexcept {
    if (octets_) pool_->give(std::move(octets_), capacity_);
    capacity_ = begin_ = end_ = 0;
  }

  void swap(buffer& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(octets_, other.octets_);
    std::swap(capacity_, other.capacity_);
    std::swap(begin_, other.begin_);
    std::swap(end_, other.end_);
  }

 private:
  buffer_pool* pool_;
  std::unique_ptr<char[]> octets_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace penstock::net
