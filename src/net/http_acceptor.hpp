// Takes connections from one listening socket for http_server. Internal to it. Pauses for a moment
// when the process has no descriptors left, instead of making the loop spin.
#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>

#include "net/handler_memory.hpp"
#include "net/listener.hpp"
#include "net/loop.hpp"
#include "net/timer_wheel.hpp"

namespace penstock::net {

class http_server;

class http_acceptor {
 public:
  http_acceptor(http_server& owner, loop& on, listening_socket socket);

  void start() { wait(); }
  // No connection is taken any more. The server learns by accepted_last() that nothing is under
  // way.
  void close();
  [[nodiscard]] bool under_way() const noexcept { return waiting_; }

 private:
  void wait();
  void on_readable(const boost::system::error_code& failed);
  // False: no descriptor was to be had.
  bool accept_waiting();

  using descriptor =
      boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;

  http_server& owner_;
  loop& loop_;
  descriptor socket_;
  handler_memory memory_;
  timer_wheel::entry retry_;
  bool waiting_ = false;
  bool closed_ = false;
};

}  // namespace penstock::net
