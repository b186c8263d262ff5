#include "gateway/proxy_rig.hpp"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "gateway/client_connection.hpp"

namespace penstock::gateway::testing {
namespace {

// What cannot fail in a test must not be mistaken for a finding.
int must(int got) {
  if (got < 0) std::abort();
  return got;
}

// Whether something came, or the end.
bool take(int descriptor, std::string& to, bool& ended) {
  bool moved = false;
  std::array<char, 16384> room{};
  while (!ended) {
    const auto got = ::recv(descriptor, room.data(), room.size(), MSG_DONTWAIT);
    if (got > 0) {
      to.append(room.data(), static_cast<std::size_t>(got));
      moved = true;
      continue;
    }
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    ended = true;
    moved = true;
  }
  return moved;
}

}  // namespace

service::answer admitting::decide(service::exchange_context& x, instant) {
  ++decided;
  x.plan.clear();
  x.decision.clear();
  x.plan.path = x.request.path;
  x.plan.client = x.request.peer;
  return service::answer::ready;
}

proxy_rig::proxy_rig() : loop_(clock_), guard_(loop_.context().get_executor()) {
  listener_ = must(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_un where{};
  where.sun_family = AF_UNIX;
  // The system picks an abstract name.
  must(::bind(listener_, reinterpret_cast<const sockaddr*>(&where), sizeof(sa_family_t)));
  must(::listen(listener_, 64));
  socklen_t size = sizeof where;
  must(::getsockname(listener_, reinterpret_cast<sockaddr*>(&where), &size));
  target_.where = boost::asio::generic::stream_protocol::endpoint(&where, size);
  target_.name = "upstream";
  target_.authority = "upstream.test";
}

proxy_rig::~proxy_rig() {
  clear();
  ::close(listener_);
}

void proxy_rig::open_client() {
  worker_ = std::make_unique<worker>(loop_, *decides, options_, std::vector{target_},
                                     worker_bounds{.connections = 64},
                                     access_logger(log, log_ring, log.lines_max));
  worker_->tls = tls;
  reads_client_ = true;
  std::array<int, 2> pair{};
  must(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair.data()));
  client_ = pair[0];
  net::stream_socket socket(loop_.context(), boost::asio::generic::stream_protocol(AF_UNIX, 0),
                            pair[1]);
  auto* client =
      new client_connection(*worker_, std::move(socket), policy::address::v4({192, 0, 2, 1}));
  client->start();  // the graveyard's from now on
}

void proxy_rig::client_sends(std::string_view octets) {
  while (!octets.empty()) {
    const auto sent = ::send(client_, octets.data(), octets.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
      octets.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
      return;  // the gateway has closed
    } else if (!turn()) {
      return;  // and it takes no more
    }
  }
}

int proxy_rig::take_over_client() noexcept {
  reads_client_ = false;
  return client_;
}

void proxy_rig::client_ends() {
  ::shutdown(client_, SHUT_WR);
}

void proxy_rig::upstream_sends(upstream_end& to, std::string_view octets) {
  while (!octets.empty() && to.descriptor >= 0) {
    const auto sent =
        ::send(to.descriptor, octets.data(), octets.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent <= 0) return;
    octets.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void proxy_rig::upstream_closes(upstream_end& which) {
  if (which.descriptor >= 0) ::close(std::exchange(which.descriptor, -1));
  which.ended = true;
}

bool proxy_rig::turn() {
  bool moved = loop_.context().poll() > 0;
  for (;;) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) break;
    upstreams.push_back(std::make_unique<upstream_end>());
    upstreams.back()->descriptor = fd;
    moved = true;
  }
  for (std::size_t i = 0; i < upstreams.size(); ++i) {
    auto& u = *upstreams[i];
    if (u.descriptor < 0 || !take(u.descriptor, u.received, u.ended)) continue;
    moved = true;
    if (on_upstream) on_upstream(u);
  }
  if (client_ >= 0 && reads_client_ && take(client_, client_received, client_ended)) moved = true;
  return moved;
}

void proxy_rig::settle() {
  while (turn()) continue;
}

void proxy_rig::clear() {
  if (client_ >= 0) ::close(std::exchange(client_, -1));
  on_upstream = nullptr;
  if (worker_) {
    worker_->shut_down();
    bool idle = false;
    worker_->when_idle([&idle] { idle = true; });
    while (!idle) loop_.context().poll();
    worker_.reset();
  }
  for (auto& u : upstreams) {
    if (u->descriptor >= 0) ::close(u->descriptor);
  }
  upstreams.clear();
  client_received.clear();
  client_ended = false;
  decider.decided = 0;
}

}  // namespace penstock::gateway::testing
