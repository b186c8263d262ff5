// Takes connections from one listening socket, many per wake-up, and pauses when the process is
// near its descriptor limit: clients then wait in the system's queue instead of making the loop
// spin.
#pragma once

#include <cstdint>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "gateway/loop_object.hpp"
#include "net/handler_memory.hpp"
#include "net/listener.hpp"
#include "net/timer_wheel.hpp"

namespace penstock::gateway {

class worker;

class accept_port final : public loop_object {
 public:
  accept_port(worker& owner, net::listening_socket socket);
  ~accept_port() override;

  void start();
  // A client has gone; accept again if it was paused.
  void resume();
  // Takes what waits in the queue, then closes: a connection that was made gets its answer.
  void close();

 private:
  void wait();
  void on_readable(const boost::system::error_code& failed);
  enum class taken : std::uint8_t { all, some, paused };
  taken accept_waiting();
  void pause();

  using descriptor =
      boost::asio::posix::basic_stream_descriptor<boost::asio::io_context::executor_type>;

  worker& owner_;
  descriptor socket_;
  net::handler_memory memory_;
  net::timer_wheel::entry retry_;
  bool paused_ = false;
  bool waiting_ = false;
};

}  // namespace penstock::gateway
