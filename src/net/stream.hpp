// A connected byte stream (TCP or unix socket, with TLS or without) on one loop: reads through
// Asio's reactor into the caller's memory, writes at once with one system call and asks the reactor
// only when the socket is full.
//
// That is what keeps a proxied request at two reads and two writes, and at two reads more that Asio
// tries before it waits; docs/decisions/0001 says what it would take to save those.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <sys/uio.h>

#include "net/handler_memory.hpp"
#include "net/tls.hpp"

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
    if (tls_) {
      read_to_ = to;
      read_room_ = room;
      cancelled_ = false;
      const tls_step<&stream::read_more<Method, Owner>, Owner> next{owner, this};
      if (tls_->holds_input()) {
        boost::asio::post(socket_.get_executor(), next);
      } else {
        socket_.async_wait(stream_socket::wait_read, next);
      }
      return;
    }
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

  // From now on the stream is TLS; handshake() is next. `received`: octets read already.
  void use_tls(const tls_context& context, std::string_view received);          // as the server
  void use_tls(const tls_context& context, tls_session::host_name host);        // as a client
  [[nodiscard]] const tls_session* tls() const noexcept { return tls_.get(); }  // null: plain

  // Calls (owner->*Method)(error) once the handshake is over, never at once.
  template <auto Method, class Owner>
  void handshake(Owner* owner) {
    boost::asio::post(socket_.get_executor(),
                      tls_step<&stream::shake_more<Method, Owner>, Owner>{owner, this});
  }

  // Writes what the socket takes, in one system call (plain) or one a record. Never blocks.
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
  // Goes on with (stream->*Step)(owner, error) out of the memory for reads.
  template <auto Step, class Owner>
  struct tls_step {
    using allocator_type = handler_allocator<std::byte>;

    Owner* owner;
    stream* self;

    [[nodiscard]] allocator_type get_allocator() const noexcept {
      return allocator_type(self->read_memory_);
    }
    void operator()(const boost::system::error_code& failed = {}) const {
      (self->*Step)(owner, failed);
    }
  };

  // What to wait for before the session's call is made again; nothing: it is over.
  struct tls_outcome {
    std::optional<stream_socket::wait_type> wait;
    boost::system::error_code failed;
  };
  [[nodiscard]] tls_outcome outcome_of(tls_session::status s) const noexcept;

  template <auto Method, class Owner>
  void read_more(Owner* owner, const boost::system::error_code& failed) {
    std::size_t octets = 0;
    tls_outcome now{std::nullopt, failed};
    if (!failed) {
      now = socket_.is_open() ? outcome_of(tls_->read(read_to_, read_room_, octets))
                              : tls_outcome{std::nullopt, boost::asio::error::operation_aborted};
    }
    if (now.wait && cancelled_) now = {std::nullopt, boost::asio::error::operation_aborted};
    if (now.wait) {
      socket_.async_wait(*now.wait,
                         tls_step<&stream::read_more<Method, Owner>, Owner>{owner, this});
      return;
    }
    (owner->*Method)(now.failed, octets);
  }

  template <auto Method, class Owner>
  void shake_more(Owner* owner, const boost::system::error_code& failed) {
    tls_outcome now{std::nullopt, failed};
    if (!failed) {
      now = socket_.is_open() ? outcome_of(tls_->handshake())
                              : tls_outcome{std::nullopt, boost::asio::error::operation_aborted};
    }
    if (now.wait) {
      socket_.async_wait(*now.wait,
                         tls_step<&stream::shake_more<Method, Owner>, Owner>{owner, this});
      return;
    }
    (owner->*Method)(now.failed);
  }

  stream_socket socket_;
  std::unique_ptr<tls_session> tls_;
  char* read_to_ = nullptr;  // TLS: where the read under way puts its octets
  std::size_t read_room_ = 0;
  bool cancelled_ = false;  // the TLS read under way
  handler_memory read_memory_;
  handler_memory write_memory_;
};

}  // namespace penstock::net
