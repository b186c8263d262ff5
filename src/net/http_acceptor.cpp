#include "net/http_acceptor.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/http_server.hpp"

namespace penstock::net {
namespace {

constexpr int accepts_per_turn = 64;         // then others get their turn
constexpr std::int64_t retry_after_ms = 50;  // for want of descriptors or memory

template <class Address>
Address as(const sockaddr_storage& from) {
  Address out;
  std::copy_n(reinterpret_cast<const char*>(&from), sizeof out, reinterpret_cast<char*>(&out));
  return out;
}

peer_address peer_of(const sockaddr_storage& from) {
  peer_address out;
  if (from.ss_family == AF_INET) {
    const auto in = as<sockaddr_in>(from);
    out.what = peer_address::kind::v4;
    std::copy_n(reinterpret_cast<const std::uint8_t*>(&in.sin_addr), 4, out.octets.begin());
  } else if (from.ss_family == AF_INET6) {
    const auto in6 = as<sockaddr_in6>(from);
    const std::uint8_t* const octets = in6.sin6_addr.s6_addr;
    const bool mapped = IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr) != 0;
    out.what = mapped ? peer_address::kind::v4 : peer_address::kind::v6;
    std::copy(mapped ? octets + 12 : octets, octets + 16, out.octets.begin());
  }
  return out;
}

}  // namespace

http_acceptor::http_acceptor(http_server& owner, loop& on, listening_socket socket)
    : owner_(owner),
      loop_(on),
      socket_(on.context(), socket.release()),
      retry_([](timer_wheel::entry& e) { static_cast<http_acceptor*>(e.owner)->wait(); }, this) {}

void http_acceptor::wait() {
  if (closed_ || std::exchange(waiting_, true)) return;
  socket_.async_wait(descriptor::wait_read,
                     method_handler<&http_acceptor::on_readable, http_acceptor>{this, &memory_});
}

void http_acceptor::on_readable(const boost::system::error_code& failed) {
  waiting_ = false;
  if (closed_) {
    owner_.accepted_last();
    return;
  }
  if (!failed && accept_waiting()) {
    wait();
  } else {
    loop_.arm(retry_, loop::coarse_now() + retry_after_ms);
  }
}

bool http_acceptor::accept_waiting() {
  for (int i = 0; i < accepts_per_turn && !closed_; ++i) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    const int fd = ::accept4(socket_.native_handle(), reinterpret_cast<sockaddr*>(&from), &size,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      owner_.opened(fd, peer_of(from));
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) return false;
    // Any other error is of that one connection (ECONNABORTED and the like).
  }
  return true;
}

void http_acceptor::close() {
  if (std::exchange(closed_, true)) return;
  loop_.disarm(retry_);
  // Released first: another loop or process may hold the same socket open, and the system would go
  // on telling this loop about it.
  ::close(socket_.release());
}

}  // namespace penstock::net
