#include "gateway/gateway_test_support.hpp"

#include <algorithm>
#include <cstdlib>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ascii.hpp"

namespace penstock::gateway {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  a.sin_port = htons(port);
  return a;
}

int connect_to(std::uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto to = loopback(port);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return fd;
  ::close(fd);
  return -1;
}

// A port that was free a moment ago and that nobody listens on.
std::uint16_t closed_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto a = loopback(0);
  ::bind(fd, reinterpret_cast<const sockaddr*>(&a), sizeof a);
  socklen_t size = sizeof a;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&a), &size);
  ::close(fd);
  return ntohs(a.sin_port);
}

}  // namespace

std::string pattern(std::size_t size) {
  std::string out(size, '\0');
  std::uint32_t state = 12345;
  for (auto& c : out) {
    state = state * 1664525U + 1013904223U;
    c = static_cast<char>(state >> 24U);
  }
  return out;
}

std::string chunked(const std::string& content, std::size_t chunk) {
  std::string out;
  char size[20];
  for (std::size_t at = 0; at < content.size(); at += chunk) {
    const auto part = content.substr(at, chunk);
    std::snprintf(size, sizeof size, "%zx\r\n", part.size());
    out += size + part + "\r\n";
  }
  return out + "0\r\n\r\n";
}

bool eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < end) {
    if (condition()) return true;
    std::this_thread::yield();
  }
  return condition();
}

std::string message::field(std::string_view name) const {
  for (const auto& [n, v] : fields) {
    if (ascii::iequals(n, name)) return v;
  }
  return "";
}

std::string seen_request::target() const {
  const auto first = line.find(' ');
  return line.substr(first + 1, line.rfind(' ') - first - 1);
}

// --- peer

peer::peer(peer&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), buffer_(std::move(other.buffer_)) {}

void peer::send(std::string_view octets) {
  while (!octets.empty()) {
    const auto n = ::send(descriptor_, octets.data(), octets.size(), MSG_NOSIGNAL);
    if (n <= 0) return;  // the other side has gone; what it answered tells
    octets.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::string peer::read_some() {
  timeval limit{.tv_sec = 20, .tv_usec = 0};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::string out(65536, '\0');
  const auto n = ::recv(descriptor_, out.data(), out.size(), 0);
  out.resize(n > 0 ? static_cast<std::size_t>(n) : 0);
  return out;
}

bool peer::more() {
  const auto part = read_some();
  buffer_ += part;
  return !part.empty();
}

bool peer::read_head(message& out) {
  auto end = buffer_.find("\r\n\r\n");
  while (end == std::string::npos) {
    if (!more()) return false;
    end = buffer_.find("\r\n\r\n");
  }
  std::string_view head = std::string_view(buffer_).substr(0, end);
  bool first = true;
  while (!head.empty()) {
    auto line = ascii::take_until(head, '\n');
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (std::exchange(first, false)) {
      out.line = line;
      continue;
    }
    const auto colon = line.find(':');
    out.fields.emplace_back(line.substr(0, colon), ascii::trim(line.substr(colon + 1)));
  }
  buffer_.erase(0, end + 4);
  return true;
}

bool peer::read_body(message& out, bool until_close) {
  if (out.field("Transfer-Encoding") == "chunked") {
    for (;;) {
      auto end = buffer_.find("\r\n");
      while (end == std::string::npos) {
        if (!more()) return false;
        end = buffer_.find("\r\n");
      }
      const auto size = std::strtoul(buffer_.c_str(), nullptr, 16);
      while (buffer_.size() < end + 2 + size + 2) {
        if (!more()) return false;
      }
      out.body += buffer_.substr(end + 2, size);
      buffer_.erase(0, end + 2 + size + 2);
      if (size == 0) return true;
    }
  }
  const auto length = out.field("Content-Length");
  if (!length.empty()) {
    const auto size = std::strtoul(length.c_str(), nullptr, 10);
    while (buffer_.size() < size) {
      if (!more()) return false;
    }
    out.body = buffer_.substr(0, size);
    buffer_.erase(0, size);
    return true;
  }
  if (!until_close) return true;
  while (more()) continue;
  out.body = std::exchange(buffer_, {});
  return true;
}

bool peer::read_request(seen_request& out, const std::function<void()>& before_body) {
  if (!read_head(out)) return false;
  if (before_body && !out.field("Expect").empty()) before_body();
  return out.complete = read_body(out, false);
}

seen_response peer::read_response(response_of method) {
  seen_response out;
  if (!read_head(out)) return out;
  out.status = std::atoi(out.line.c_str() + 9);
  const bool none =
      method == response_of::head || out.status < 200 || out.status == 204 || out.status == 304;
  out.complete = none || read_body(out, true);
  return out;
}

std::string peer::read_exactly(std::size_t size) {
  while (buffer_.size() < size) {
    if (!more()) break;
  }
  auto out = buffer_.substr(0, size);
  buffer_.erase(0, size);
  return out;
}

bool peer::ends() {
  return buffer_.empty() && read_some().empty();
}

void peer::half_close() {
  ::shutdown(descriptor_, SHUT_WR);
}

void peer::close() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

void peer::close_with_reset() {
  const linger now{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close();
}

// --- upstream

fake_upstream::fake_upstream(bool listens)
    : respond_([](const seen_request&) {
        return std::string("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
      }) {
  if (!listens) {
    port_ = closed_port();
    return;
  }
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  auto a = loopback(0);
  ::bind(listener_, reinterpret_cast<const sockaddr*>(&a), sizeof a);
  ::listen(listener_, 128);
  socklen_t size = sizeof a;
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&a), &size);
  port_ = ntohs(a.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

fake_upstream::~fake_upstream() {
  if (listener_ < 0) return;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }
  for (auto& t : threads_) t.join();
  for (const int fd : kept_) ::close(fd);
  ::close(listener_);
}

void fake_upstream::accept_all() {
  for (;;) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    const std::lock_guard lock(mutex_);
    ++connections_;
    open_.push_back(fd);
    if (never_read_) {
      kept_.push_back(fd);
      continue;
    }
    threads_.emplace_back([this, fd] { serve(fd); });
  }
}

void fake_upstream::serve(int descriptor) {
  {
    peer from(::dup(descriptor));
    for (int served = 0;; ++served) {
      seen_request request;
      const auto expected = [&] {
        if (send_continue_) from.send("HTTP/1.1 100 Continue\r\n\r\n");
      };
      if (!from.read_request(request, expected)) break;
      std::function<std::string(const seen_request&)> respond;
      {
        const std::lock_guard lock(mutex_);
        if (close_second_ && served == 1) break;
        requests_.push_back(request);
        respond = respond_;
      }
      if (tunnel_) {
        from.send(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: "
            "websocket\r\n\r\n");
        for (auto part = from.read_some(); !part.empty(); part = from.read_some()) from.send(part);
        break;
      }
      auto answer = respond(request);
      const bool ends = answer.ends_with("<EOF>");
      if (ends) answer.resize(answer.size() - 5);
      from.send(answer);
      if (ends) break;
    }
    from.half_close();
  }
  const std::lock_guard lock(mutex_);
  std::erase(open_, descriptor);
  ::close(descriptor);
}

void fake_upstream::respond_with(std::function<std::string(const seen_request&)> respond) {
  const std::lock_guard lock(mutex_);
  respond_ = std::move(respond);
}

std::vector<seen_request> fake_upstream::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

std::size_t fake_upstream::connections() const {
  const std::lock_guard lock(mutex_);
  return connections_;
}

// --- decider

service::answer fake_decider::decide(service::exchange_context& x, instant) {
  ++decided_;
  x.plan.clear();
  x.decision.clear();
  x.plan.path = x.request.path;
  x.plan.client = x.request.peer;
  x.decision.headers = "X-Decision: seen\r\n";
  if (x.request.path == "/deny") {
    x.decision.what = policy::outcome::deny;
    x.decision.status = 429;
    x.decision.headers = "Retry-After: 7\r\n";
    x.decision.body = "{\"error\":\"no\"}\n";
    x.decision.content_type = "application/json";
  } else if (x.request.path == "/delay") {
    x.decision.what = policy::outcome::delay;
    x.decision.delay = delay_now;
  } else if (x.request.path == "/pending") {
    loop_.post([&x] { x.on_decided(x); });
    return service::answer::pending;
  }
  return service::answer::ready;
}

void fake_decider::cancel(service::exchange_context&, instant) {
  ++cancelled_;
}
void fake_decider::completed(service::exchange_context&, int, instant) {}

// --- fixture

fake_decider& fixture::add_loops(int count) {
  for (int i = 0; i < count; ++i) deciders_.emplace_back(loops_.emplace_back(clock_));
  return deciders_.front();
}

fixture::fixture(const fixture_options& options)
    : upstream(options.upstream_listens), decider(add_loops(options.loops)) {
  gateway_options g;
  g.listen = {{.host = "127.0.0.1"}};
  for (int i = 0; i < options.dead_upstreams; ++i) {
    g.upstreams.push_back({.where = {.host = "127.0.0.1", .port = closed_port()}});
  }
  g.upstreams.push_back({.where = {.host = "127.0.0.1", .port = upstream.port()}});
  g.body_max = 4'000'000;
  g.response_timeout = options.response_timeout;
  g.continue_timeout = options.continue_timeout;
  g.head_timeout = options.head_timeout;
  g.body_grace = options.body_grace;
  g.write_grace = options.write_grace;
  g.write_rate_min = 1U << 30U;
  g.in_flight_max = options.in_flight_max;
  g.connections_max = options.connections_max;
  decider.delay_now = options.decider_delay;
  if (options.proxy_protocol) {
    g.proxy_protocol_from = [](const policy::address& a) { return a.is_v4(); };
  }
  std::vector<gateway::place> places;
  for (std::size_t i = 0; i < loops_.size(); ++i) places.push_back({&loops_[i], &deciders_[i]});
  auto opened = gateway::open(g, places);
  if (!opened) {
    ADD_FAILURE() << opened.error().message;
    std::abort();
  }
  gateway_ = std::move(*opened);
  for (auto& loop : loops_) threads_.emplace_back([&loop] { loop.run(); });
  gateway_->start();
}

fixture::~fixture() {
  gateway_->stop();
  for (auto& loop : loops_) loop.stop();
  for (auto& thread : threads_) thread.join();
}

peer fixture::connect() {
  return peer(connect_to(gateway_->endpoints().front().port));
}

bool fixture::refuses_connections() const {
  const int fd = connect_to(gateway_->endpoints().front().port);
  if (fd >= 0) ::close(fd);
  return fd < 0;
}

}  // namespace penstock::gateway
