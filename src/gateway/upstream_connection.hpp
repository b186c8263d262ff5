// One connection to an upstream: connecting, serving one exchange, or kept for the next. While kept
// a read stays armed, so that the upstream's close and octets nobody asked for are seen and the
// connection is thrown away. Lives on one loop.
#pragma once

#include <chrono>
#include <cstddef>

#include "gateway/loop_object.hpp"
#include "gateway/upstream_pool.hpp"
#include "net/buffer_pool.hpp"
#include "net/stream.hpp"
#include "net/timer_wheel.hpp"
#include "net/write_queue.hpp"

namespace penstock::gateway {

class exchange;
class worker;

class upstream_connection final : public loop_object {
 public:
  upstream_connection(worker& owner, upstream_target& target);
  ~upstream_connection() override;

  // Reports to `user`: upstream_connected or upstream_lost.
  void connect(exchange& user);
  // Serves `user` from now on; the connection has served before.
  void reuse(exchange& user) noexcept;
  // Belongs to nobody from now on.
  void keep();

  void close();

  // Reports upstream_octets or upstream_lost. Nothing happens when a read is armed.
  void read_more();
  // Reports upstream_writable.
  void wait_writable();
  // Reports upstream_deadline to the user, or closes a kept connection.
  void set_deadline(std::chrono::milliseconds from_now);
  void clear_deadline() noexcept;

  [[nodiscard]] upstream_target& target() noexcept { return target_; }
  [[nodiscard]] bool reused() const noexcept { return reused_; }
  [[nodiscard]] bool read_armed() const noexcept { return reading_; }

  net::stream stream;
  net::buffer in;
  net::write_queue out;

 private:
  void on_connect(const boost::system::error_code& failed);
  void on_handshake(const boost::system::error_code& failed);
  void on_read(const boost::system::error_code& failed, std::size_t octets);
  void on_writable(const boost::system::error_code& failed);
  static void on_deadline(net::timer_wheel::entry& e);

  worker& owner_;
  upstream_target& target_;
  exchange* user_ = nullptr;
  net::timer_wheel::entry deadline_;
  bool reused_ = false;
  bool reading_ = false;
  bool waiting_ = false;
};

}  // namespace penstock::gateway
