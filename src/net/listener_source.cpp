#include "net/listener_source.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>

namespace penstock::net {
namespace {

result<listening_socket> duplicate(const listening_socket& socket) {
  const int fd = ::fcntl(socket.descriptor(), F_DUPFD_CLOEXEC, 0);
  if (fd < 0) {
    return error{errc::io,
                 std::string("cannot duplicate a listening socket: ") + std::strerror(errno)};
  }
  return listening_socket(fd);
}

}  // namespace

listener_source::listener_source(std::vector<named_socket> inherited)
    : inherited_(std::move(inherited)) {}

// Sockets of one address only: two listeners of a face may both have asked for port 0.
std::vector<listening_socket> listener_source::claim(std::string_view face, const endpoint& where) {
  std::vector<listening_socket> out;
  std::uint16_t port = where.port;
  for (auto at = inherited_.begin(); at != inherited_.end();) {
    const int fd = at->socket.descriptor();
    const bool wanted = where.is_unix() || where.port != 0 || at->name == face;
    if (!wanted || !listens_on(fd, where) || (port != 0 && listening_port(fd) != port)) {
      ++at;
      continue;
    }
    if (!where.is_unix()) port = listening_port(fd);
    out.push_back(std::move(at->socket));
    at = inherited_.erase(at);
  }
  return out;
}

result<opened_listener> listener_source::open(std::string_view face, const endpoint& where,
                                              const listen_options& options) {
  opened_listener out{where, claim(face, where)};
  if (out.sockets.empty()) {
    auto opened = open_listener(where, options);
    if (!opened) return opened.error();
    out = std::move(*opened);
  } else {
    if (!where.is_unix()) out.where.port = listening_port(out.sockets.front().descriptor());
    // More loops than sockets: some share one.
    for (std::size_t i = 0; out.sockets.size() < options.shares; ++i) {
      auto another = duplicate(out.sockets[i]);
      if (!another) return another.error();
      out.sockets.push_back(std::move(*another));
    }
  }
  for (const auto& socket : out.sockets) {
    auto another = duplicate(socket);
    if (!another) return another.error();
    kept_.push_back({std::string(face), std::move(*another)});
  }
  return out;
}

std::size_t listener_source::close_unclaimed() {
  const std::size_t left = inherited_.size();
  inherited_.clear();
  return left;
}

result<opened_listener> open_listener_from(listener_source* source, std::string_view face,
                                           const endpoint& where, const listen_options& options) {
  return source != nullptr ? source->open(face, where, options) : open_listener(where, options);
}

}  // namespace penstock::net
