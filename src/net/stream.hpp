// A connected byte stream (TCP or unix socket) on one loop: reads through Asio's reactor into the
// caller's memory, writes at once with sendmsg and asks the reactor only when the socket is full.
//
// That is what keeps a proxied request at two reads and two writes: Asio does not try a read that
// the last one showed to be empty, and no write is armed that could have been made.
#pragma once

#include <cstddef>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <sys/uio.h>

#include "net/handler_memory.hpp"

namespace penstock::net {

using stream_socket = boost::asio::basic_stream_socket<boost::asio::generic::stream_protocol,
                                                       boost::asio::io_context::executor_type>;

struct write_outcome {
  std::size_t octets = 0;
  bool full = false;    // the socket takes no more now: wait_writable
  bool failed = false;  // the connection is gone
};

class stream {
 public:
  explicit stream(boost::asio::io_context& context) : socket_(context) {}
  explicit stream(stream_socket socket) : socket_(std::move(socket)) {}

  [[nodiscard]] bool is_open() const noexcept { return socket_.is_open(); }
  [[nodiscard]] stream_socket& socket() noexcept { return socket_; }

  // Calls (owner->*Method)(error, octets) once octets are there, or the peer's end (error) is.
  // `memory` must stay until then. One read at a time.
  template <auto Method, class Owner>
  void read(Owner* owner, char* to, std::size_t room) {
    socket_.async_read_some(boost::asio::buffer(to, room),
                            method_handler<Method, Owner>{owner, &read_memory_});
  }

  // Calls (owner->*Method)(error) when the socket takes octets again. One wait at a time.
  template <auto Method, class Owner>
  void wait_writable(Owner* owner) {
    socket_.async_wait(stream_socket::wait_write,
                       method_handler<Method, Owner>{owner, &write_memory_});
  }

  template <auto Method, class Owner>
  void connect(Owner* owner, const boost::asio::generic::stream_protocol::endpoint& to) {
    socket_.async_connect(to, method_handler<Method, Owner>{owner, &write_memory_});
  }

  // Writes what the socket takes, in one system call. Never blocks.
  write_outcome write(const iovec* pieces, int count) noexcept;

  // Ends a read or wait that is under way; it completes with an error, or with what has come.
  void cancel() noexcept;
  // Ends our half; the peer reads our last octets and then the end.
  void shutdown_write() noexcept;
  // Cancels reads and waits, which still complete (with an error).
  void close() noexcept;
  // The same, but the peer sees a reset: it must not take what it has for complete.
  void reset() noexcept;

  // Small writes go out at once. Failure is of no consequence (unix sockets have no such option).
  void no_delay() noexcept;

 private:
  stream_socket socket_;
  handler_memory read_memory_;
  handler_memory write_memory_;
};

}  // namespace penstock::net
