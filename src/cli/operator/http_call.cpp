#include "cli/operator/http_call.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "config/grammar/duration.hpp"
#include "net/http1.hpp"

namespace penstock::cli {
namespace {

using clock = std::chrono::steady_clock;

error failed(const config::listen_address& at, std::string_view sentence) {
  return {errc::io, config::to_text(at) + ": " + std::string(sentence)};
}

error failed_because(const config::listen_address& at, int number) {
  switch (number) {
    case ECONNREFUSED:
      return failed(at,
                    "connection refused: no penstock listens there; start it with --admin ADDR, or "
                    "say where it listens with --admin ADDR or PENSTOCK_ADMIN");
    case ENOENT:
      return failed(at,
                    "there is no such socket; start penstock with --admin ADDR, or say where it "
                    "listens with --admin ADDR or PENSTOCK_ADMIN");
    case EACCES:
      return failed(at, "this user may not open it; run the command as penstock's user");
    default:
      return failed(at, std::strerror(number));
  }
}

error too_late(const config::listen_address& at, std::chrono::milliseconds deadline) {
  return failed(at, "no answer within " + config::to_text(penstock::duration(deadline)) +
                        "; the process is stopped or overloaded: see its log, or wait longer with "
                        "--deadline");
}

class socket_owner {
 public:
  explicit socket_owner(int fd) noexcept : fd_(fd) {}
  socket_owner(socket_owner&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  socket_owner(const socket_owner&) = delete;
  socket_owner& operator=(const socket_owner&) = delete;
  socket_owner& operator=(socket_owner&&) = delete;
  ~socket_owner() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

class call {
 public:
  call(const config::listen_address& to, const call_options& options)
      : to_(to), options_(options), until_(clock::now() + options.deadline) {}

  result<http_reply> run(std::string_view method, std::string_view request) {
    auto socket = connect();
    if (!socket) return socket.error();
    for (std::size_t sent = 0; sent < request.size();) {
      const auto n =
          ::send(socket->get(), request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
      if (n >= 0) {
        sent += static_cast<std::size_t>(n);
      } else if (auto waited = wait_after(errno, socket->get(), POLLOUT); !waited) {
        return waited.error();
      }
    }
    return receive(socket->get(), method);
  }

 private:
  // True when `fd` is ready; an error when the time is over or somebody interrupts.
  result<bool> wait(int fd, short events) {
    for (;;) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until_ - clock::now());
      if (left.count() <= 0) return too_late(to_, options_.deadline);
      std::array<pollfd, 2> of{{{fd, events, 0}, {options_.interrupt_fd, POLLIN, 0}}};
      const int ready = ::poll(of.data(), of.size(), static_cast<int>(left.count()));
      if (ready < 0 && errno != EINTR) return failed_because(to_, errno);
      if (ready > 0 && of[1].revents != 0) return failed(to_, "interrupted");
      if (ready > 0) return true;
    }
  }

  result<bool> wait_after(int number, int fd, short events) {
    if (number == EINTR) return true;
    if (number == EAGAIN || number == EINPROGRESS) return wait(fd, events);
    return failed_because(to_, number);
  }

  result<socket_owner> connect_to(const sockaddr* address, socklen_t size) {
    socket_owner s(::socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (s.get() < 0) return failed_because(to_, errno);
    if (::connect(s.get(), address, size) == 0) return s;
    if (auto waited = wait_after(errno, s.get(), POLLOUT); !waited) return waited.error();
    int number = 0;
    socklen_t length = sizeof number;
    ::getsockopt(s.get(), SOL_SOCKET, SO_ERROR, &number, &length);
    if (number != 0) return failed_because(to_, number);
    return s;
  }

  result<socket_owner> connect() {
    if (!to_.unix_path.empty()) {
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      to_.unix_path.copy(address.sun_path, sizeof address.sun_path - 1);
      return connect_to(reinterpret_cast<const sockaddr*>(&address), sizeof address);
    }
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int number =
        ::getaddrinfo(to_.host.c_str(), std::to_string(to_.port).c_str(), &hints, &found);
    if (number != 0) return failed(to_, ::gai_strerror(number));
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
    for (const addrinfo* one = found;; one = one->ai_next) {
      auto s = connect_to(one->ai_addr, one->ai_addrlen);
      if (s || one->ai_next == nullptr) return s;
    }
  }

  [[nodiscard]] error no_http() const {
    return failed(to_,
                  "what answers there does not speak HTTP as penstock does; --admin must name its "
                  "admin listener");
  }

  result<http_reply> receive(int fd, std::string_view method) {
    net::http1::response_parser parser({.head_max = 64U << 10U});
    net::http1::response_head head;
    net::http1::body_reader body;
    http_reply reply;
    std::string buffer;
    std::array<char, 16U << 10U> chunk;
    for (;;) {
      const auto n = ::recv(fd, chunk.data(), chunk.size(), 0);
      if (n < 0) {
        if (auto waited = wait_after(errno, fd, POLLIN); !waited) return waited.error();
        continue;
      }
      if (n == 0) {
        if (reply.status != 0 && body.finish()) return reply;
        return no_http();
      }
      buffer.append(chunk.data(), static_cast<std::size_t>(n));
      if (reply.status == 0) {
        const auto parsed = parser.parse(buffer, method, head);
        if (parsed == net::http1::parse_status::need_more) continue;
        if (parsed == net::http1::parse_status::bad || head.status < 200) return no_http();
        reply.status = head.status;
        body.start(head.body, head.content_length);
        buffer.erase(0, parser.consumed());
      }
      while (true) {
        const auto step = body.next(buffer);
        if (step.bad || reply.body.size() + step.data.size() > reply_body_max) return no_http();
        reply.body.append(step.data);
        if (step.done) return reply;
        if (step.consumed == 0) break;
        buffer.erase(0, step.consumed);
      }
    }
  }

  const config::listen_address& to_;
  const call_options& options_;
  const clock::time_point until_;
};

}  // namespace

result<http_reply> http_call(const config::listen_address& to, std::string_view method,
                             std::string_view request, const call_options& options) {
  return call(to, options).run(method, request);
}

}  // namespace penstock::cli
