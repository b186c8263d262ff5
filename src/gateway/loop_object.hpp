// Something on an event loop with asynchronous operations under way. It is closed first and
// destroyed by its loop's graveyard once the last operation has come back, and never while one of
// its functions is on the stack. That is the whole lifetime rule of connections: raw pointers, one
// counter, no reference counting of handlers. Not thread-safe.
#pragma once

#include <cstddef>
#include <functional>

#include <boost/asio/io_context.hpp>

namespace penstock::gateway {

class loop_object;

class graveyard {
 public:
  explicit graveyard(boost::asio::io_context& context) noexcept : context_(context) {}

  // How many objects exist; `on_empty` is called once, when the last one is gone.
  [[nodiscard]] std::size_t alive() const noexcept { return alive_; }
  std::function<void()> on_empty;

 private:
  friend class loop_object;
  void bury(loop_object& dead);
  void sweep();

  boost::asio::io_context& context_;
  std::size_t alive_ = 0;
  loop_object* first_ = nullptr;
  bool sweeping_ = false;
};

class loop_object {
 public:
  explicit loop_object(graveyard& where) noexcept : graveyard_(where) { ++graveyard_.alive_; }
  loop_object(const loop_object&) = delete;
  loop_object& operator=(const loop_object&) = delete;
  virtual ~loop_object() { --graveyard_.alive_; }

 protected:
  void began() noexcept { ++under_way_; }
  // At the beginning of every completion. False: the object is closed, the handler does nothing.
  [[nodiscard]] bool ended() {
    --under_way_;
    if (!closed_) return true;
    if (under_way_ == 0) graveyard_.bury(*this);
    return false;
  }
  // The object will be destroyed; the caller has cancelled what is under way.
  void mark_closed() {
    if (closed_) return;
    closed_ = true;
    if (under_way_ == 0) graveyard_.bury(*this);
  }
  [[nodiscard]] bool is_closed() const noexcept { return closed_; }

 private:
  friend class graveyard;
  graveyard& graveyard_;
  loop_object* next_ = nullptr;
  int under_way_ = 0;
  bool closed_ = false;
};

}  // namespace penstock::gateway
