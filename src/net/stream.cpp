#include "net/stream.hpp"

#include <cerrno>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace penstock::net {

write_outcome stream::write(const iovec* pieces, int count) noexcept {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(pieces);
  message.msg_iovlen = static_cast<std::size_t>(count);
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket_.native_handle(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) return {.octets = static_cast<std::size_t>(sent)};
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return {.full = true};
  return {.failed = true};
}

void stream::cancel() noexcept {
  boost::system::error_code ignored;  // fails only on a closed socket, which has nothing under way
  socket_.cancel(ignored);
}

void stream::shutdown_write() noexcept {
  boost::system::error_code ignored;  // the peer may be gone already; close() follows in any case
  socket_.shutdown(stream_socket::shutdown_send, ignored);
}

void stream::close() noexcept {
  boost::system::error_code ignored;  // the descriptor is released whatever close(2) says
  socket_.close(ignored);
}

void stream::reset() noexcept {
  if (socket_.is_open()) {
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  close();
}

void stream::no_delay() noexcept {
  const int on = 1;
  ::setsockopt(socket_.native_handle(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace penstock::net
