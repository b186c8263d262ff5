#include "gateway/accept_port.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "gateway/client_connection.hpp"
#include "gateway/worker.hpp"

namespace penstock::gateway {
namespace {

constexpr int accepts_per_turn = 64;         // then others get their turn
constexpr int tls_accepts_per_turn = 16;     // each costs as much as several requests
constexpr std::int64_t retry_after_ms = 50;  // for want of descriptors or memory

policy::address peer_of(const sockaddr_storage& from) {
  if (from.ss_family == AF_INET) {
    const auto& in = reinterpret_cast<const sockaddr_in&>(from);
    std::array<std::uint8_t, 4> octets{};
    std::copy_n(reinterpret_cast<const std::uint8_t*>(&in.sin_addr), octets.size(), octets.begin());
    return policy::address::v4(octets);
  }
  if (from.ss_family == AF_INET6) {
    const auto& in6 = reinterpret_cast<const sockaddr_in6&>(from);
    std::array<std::uint8_t, 16> octets{};
    std::copy_n(in6.sin6_addr.s6_addr, octets.size(), octets.begin());
    return policy::address::v6(octets);
  }
  return policy::address::v4({127, 0, 0, 1});  // a unix socket's peer is on this machine
}

}  // namespace

accept_port::accept_port(worker& owner, net::listening_socket socket)
    : loop_object(owner.dead),
      owner_(owner),
      socket_(owner.loop.context(), socket.release()),
      retry_([](net::timer_wheel::entry& e) { static_cast<accept_port*>(e.owner)->resume(); },
             this) {}

accept_port::~accept_port() = default;

void accept_port::start() {
  wait();
}

void accept_port::wait() {
  if (waiting_) return;
  waiting_ = true;
  began();
  socket_.async_wait(descriptor::wait_read,
                     net::method_handler<&accept_port::on_readable, accept_port>{this, &memory_});
}

void accept_port::on_readable(const boost::system::error_code& failed) {
  waiting_ = false;
  if (!ended() || failed) return;
  if (accept_waiting() != taken::paused) wait();
}

accept_port::taken accept_port::accept_waiting() {
  const int turn = owner_.tls != nullptr ? tls_accepts_per_turn : accepts_per_turn;
  for (int i = 0; i < turn; ++i) {
    if (owner_.full()) {
      // Nobody gives way for a client that is not there.
      pollfd queue{socket_.native_handle(), POLLIN, 0};
      if (::poll(&queue, 1, 0) == 0) return taken::all;
      if (owner_.make_room()) continue;
      pause();
      return taken::paused;
    }
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    const int fd = ::accept4(socket_.native_handle(), reinterpret_cast<sockaddr*>(&from), &size,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        owner_.close_an_idle_client();  // so that there is one when the pause is over
        pause();
        return taken::paused;
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK) return taken::all;
      continue;  // that one connection failed (ECONNABORTED and the like)
    }
    const int family =
        from.ss_family == AF_INET6 || from.ss_family == AF_INET ? from.ss_family : AF_UNIX;
    net::stream_socket socket(owner_.loop.context(),
                              boost::asio::generic::stream_protocol(family, 0), fd);
    auto* client = new client_connection(owner_, std::move(socket), peer_of(from));
    if (family != AF_UNIX) client->stream.no_delay();
    client->start();  // owned by the graveyard's rule
  }
  return taken::some;
}

void accept_port::pause() {
  ++owner_.counters.accept_pauses;
  paused_ = true;
  owner_.loop.arm(retry_, net::loop::coarse_now() + retry_after_ms);
}

void accept_port::resume() {
  if (!paused_ || is_closed()) return;
  paused_ = false;
  owner_.loop.disarm(retry_);
  wait();
}

void accept_port::close() {
  if (is_closed()) return;
  while (accept_waiting() == taken::some) continue;
  // Released first: another loop or process may hold the same socket open, and the system would go
  // on telling this loop about it.
  ::close(socket_.release());
  mark_closed();
}

}  // namespace penstock::gateway
