#include "net/listener.hpp"

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace penstock::net {
namespace {

struct socket_address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  int family = AF_UNSPEC;

  [[nodiscard]] const sockaddr* get() const noexcept {
    return reinterpret_cast<const sockaddr*>(&storage);
  }
};

error failure(const endpoint& where, int code) {
  const std::string name = where.to_string();
  switch (code) {
    case EADDRINUSE:
      return {errc::io, "address " + name +
                            " is in use: another program listens there; stop it or "
                            "choose another port"};
    case EACCES:
      return {errc::io, "address " + name +
                            ": permission denied; ports below 1024 need root or "
                            "CAP_NET_BIND_SERVICE"};
    case EADDRNOTAVAIL:
      return {errc::io, "address " + name +
                            " does not belong to this machine; use one that `ip "
                            "address` shows, or :PORT for all"};
    default:
      return {errc::io, "address " + name + ": " + std::strerror(code)};
  }
}

result<socket_address> resolve(const endpoint& where) {
  socket_address out;
  if (where.is_unix()) {
    auto& un = reinterpret_cast<sockaddr_un&>(out.storage);
    un.sun_family = AF_UNIX;
    std::memcpy(un.sun_path, where.unix_path.c_str(), where.unix_path.size() + 1);
    out.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + where.unix_path.size() + 1);
    out.family = AF_UNIX;
    return out;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(where.port);
  // Without a host the wildcard of IPv6, which takes IPv4 as well, is preferred where it exists.
  if (where.host.empty()) hints.ai_family = AF_INET6;
  int code = ::getaddrinfo(where.host.empty() ? nullptr : where.host.c_str(), port.c_str(), &hints,
                           &found);
  if (code != 0 && where.host.empty()) {
    hints.ai_family = AF_INET;
    code = ::getaddrinfo(nullptr, port.c_str(), &hints, &found);
  }
  if (code != 0) {
    return error{errc::io, "address " + where.to_string() + ": cannot resolve \"" + where.host +
                               "\": " + ::gai_strerror(code)};
  }
  std::memcpy(&out.storage, found->ai_addr, found->ai_addrlen);
  out.size = found->ai_addrlen;
  out.family = found->ai_family;
  ::freeaddrinfo(found);
  return out;
}

// Of family AF_UNSPEC when it has none.
socket_address address_of(int descriptor) {
  socket_address a;
  a.size = sizeof a.storage;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&a.storage), &a.size) == 0) {
    a.family = a.storage.ss_family;
  }
  return a;
}

std::uint16_t port_of(const socket_address& a) {
  if (a.family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in&>(a.storage).sin_port);
  if (a.family == AF_INET6) {
    return ntohs(reinterpret_cast<const sockaddr_in6&>(a.storage).sin6_port);
  }
  return 0;
}

std::uint16_t port_of(int descriptor) {
  return port_of(address_of(descriptor));
}

bool same_host(const socket_address& a, const socket_address& b) {
  if (a.family != b.family) return false;
  switch (a.family) {
    case AF_INET:
      return reinterpret_cast<const sockaddr_in&>(a.storage).sin_addr.s_addr ==
             reinterpret_cast<const sockaddr_in&>(b.storage).sin_addr.s_addr;
    case AF_INET6:
      return std::memcmp(&reinterpret_cast<const sockaddr_in6&>(a.storage).sin6_addr,
                         &reinterpret_cast<const sockaddr_in6&>(b.storage).sin6_addr,
                         sizeof(in6_addr)) == 0;
    case AF_UNIX:
      return std::strcmp(reinterpret_cast<const sockaddr_un&>(a.storage).sun_path,
                         reinterpret_cast<const sockaddr_un&>(b.storage).sun_path) == 0;
    default:
      return false;
  }
}

void set_port(socket_address& a, std::uint16_t port) {
  if (a.family == AF_INET) reinterpret_cast<sockaddr_in&>(a.storage).sin_port = htons(port);
  if (a.family == AF_INET6) reinterpret_cast<sockaddr_in6&>(a.storage).sin6_port = htons(port);
}

enum class sharing { none, reuse_port };

// A bound socket, or -1 with errno set.
int bind_one(const socket_address& a, sharing how) {
  const int fd = ::socket(a.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int on = 1;
  const int off = 0;
  if (a.family != AF_UNIX) ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (a.family == AF_INET6) {
    const auto& in6 = reinterpret_cast<const sockaddr_in6&>(a.storage);
    const bool any = IN6_IS_ADDR_UNSPECIFIED(&in6.sin6_addr);
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, any ? &off : &on, sizeof on);
  }
  if (how == sharing::reuse_port) ::setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on);
  if (::bind(fd, a.get(), a.size) == 0) return fd;
  const int code = errno;
  ::close(fd);
  errno = code;
  return -1;
}

// Removes a socket file that no process listens on any more.
void remove_if_stale(const socket_address& a, const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return;
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const bool refused = ::connect(fd, a.get(), a.size) != 0 && errno == ECONNREFUSED;
  ::close(fd);
  if (refused) ::unlink(path.c_str());
}

}  // namespace

listening_socket::listening_socket(listening_socket&& other) noexcept
    : descriptor_(other.release()) {}

listening_socket& listening_socket::operator=(listening_socket&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

listening_socket::~listening_socket() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int listening_socket::release() noexcept {
  return std::exchange(descriptor_, -1);
}

bool listens_on(int descriptor, const endpoint& where) {
  const auto wanted = resolve(where);
  if (!wanted) return false;
  const auto is = address_of(descriptor);
  return same_host(is, *wanted) && (where.port == 0 || port_of(is) == where.port);
}

std::uint16_t listening_port(int descriptor) {
  return port_of(descriptor);
}

result<opened_listener> open_listener(const endpoint& where, const listen_options& options) {
  auto resolved = resolve(where);
  if (!resolved) return resolved.error();
  socket_address a = *resolved;
  opened_listener out;
  out.where = where;

  const bool is_unix = where.is_unix();
  if (is_unix) remove_if_stale(a, where.unix_path);
  const bool shared = !is_unix && (options.shares > 1 || options.share_port);
  if (shared && !options.share_port) {
    // Sockets that share a port would also share it with a forgotten instance of ours, silently.
    // A bind without the option finds that out.
    const int probe = bind_one(a, sharing::none);
    if (probe < 0) return failure(where, errno);
    set_port(a, port_of(probe));
    ::close(probe);
  }
  for (std::size_t i = 0; i < (is_unix ? 1 : options.shares); ++i) {
    const int fd = bind_one(a, shared ? sharing::reuse_port : sharing::none);
    if (fd < 0) return failure(where, errno);
    out.sockets.emplace_back(fd);
    if (::listen(fd, options.backlog) != 0) return failure(where, errno);
    if (!is_unix) set_port(a, out.where.port = port_of(fd));
  }
  while (out.sockets.size() < options.shares) {
    const int fd = ::fcntl(out.sockets.front().descriptor(), F_DUPFD_CLOEXEC, 0);
    if (fd < 0) return failure(where, errno);
    out.sockets.emplace_back(fd);
  }
  return out;
}

}  // namespace penstock::net
