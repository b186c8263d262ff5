#include "net/stream.hpp"

#include <cerrno>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace penstock::net {
namespace {

// One piece by send(2), which is about 100 ns cheaper than sendmsg(2) with one piece.
ssize_t send_some(int socket, const iovec* pieces, int count) noexcept {
  constexpr int flags = MSG_NOSIGNAL | MSG_DONTWAIT;
  if (count == 1) return ::send(socket, pieces->iov_base, pieces->iov_len, flags);
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces);
  message.msg_iovlen = static_cast<std::size_t>(count);
  return ::sendmsg(socket, &message, flags);
}

}  // namespace

void stream::use_tls(const tls_context& context, std::string_view received) {
  tls_ = std::make_unique<tls_session>(context, socket_.native_handle(), received);
}

void stream::use_tls(const tls_context& context, tls_session::host_name host) {
  tls_ = std::make_unique<tls_session>(context, socket_.native_handle(), host);
}

stream::tls_outcome stream::outcome_of(tls_session::status s) const noexcept {
  switch (s) {
    case tls_session::status::want_read:
      return {stream_socket::wait_read, {}};
    case tls_session::status::want_write:
      return {stream_socket::wait_write, {}};
    case tls_session::status::done:
      return {std::nullopt, {}};
    case tls_session::status::ended:
      return {std::nullopt, boost::asio::error::eof};
    case tls_session::status::failed:
      break;
  }
  // A peer that vanished without close_notify as well: what came last may have been cut.
  return {std::nullopt, boost::asio::error::connection_reset};
}

write_outcome stream::write(const iovec* pieces, int count) noexcept {
  if (tls_) {
    std::size_t octets = 0;
    switch (tls_->write(pieces, count, octets)) {
      case tls_session::status::done:
        return {.octets = octets};
      case tls_session::status::want_read:
      case tls_session::status::want_write:
        return {.octets = octets, .full = true};
      default:
        return {.octets = octets, .failed = true};
    }
  }
  ssize_t sent = 0;
  do {
    sent = send_some(socket_.native_handle(), pieces, count);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return {.octets = static_cast<std::size_t>(sent)};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return {.full = true};
  return {.failed = true};
}

void stream::cancel() noexcept {
  cancelled_ = true;
  boost::system::error_code ignored;  // fails only on a closed socket, which has nothing under way
  socket_.cancel(ignored);
}

void stream::shutdown_write() noexcept {
  if (tls_) tls_->close_notify();
  boost::system::error_code ignored;  // the peer may be gone already; close() follows in any case
  socket_.shutdown(stream_socket::shutdown_send, ignored);
}

void stream::close() noexcept {
  if (tls_ && socket_.is_open()) tls_->close_notify();
  boost::system::error_code ignored;  // the descriptor is released whatever close(2) says
  socket_.close(ignored);
}

void stream::reset() noexcept {
  if (socket_.is_open()) {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  boost::system::error_code ignored;  // no close_notify: this is not a proper end
  socket_.close(ignored);
}

void stream::no_delay() noexcept {
  const int on = 1;
  ::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace penstock::net
