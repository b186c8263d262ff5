// http_server behind TLS, over real sockets: requests however they are cut, new certificates while
// serving, and handshakes that lead nowhere.
#include <array>
#include <filesystem>
#include <future>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/http_server.hpp"
#include "net/tls_test_support.hpp"

namespace penstock::net {
namespace {

using namespace std::chrono_literals;
using status = tls_session::status;

struct path_echo final : http_handler {
  void handle(http_exchange& x) override { x.answer(200, "text/plain", x.head().path); }
};

class HttpServerTls : public testing::Test {
 protected:
  HttpServerTls() {
    std::string name = std::filesystem::temp_directory_path() / "penstock-http-tls-XXXXXX";
    folder = ::mkdtemp(name.data());
    first = make_certificate(folder, "first.test");
    second = make_certificate(folder, "second.test");
    auto opened = open_listener({.host = "127.0.0.1", .port = 0, .unix_path = {}}, {});
    port = opened->where.port;
    server.use_tls(context(first), 20s);
    server.listen(std::move(opened->sockets));
    thread = std::thread([this] { on.run(); });
  }
  ~HttpServerTls() override {
    on.post([this] {
      server.shut_down();
      server.when_idle([this] { on.stop(); });
    });
    thread.join();
    std::filesystem::remove_all(folder);
  }

  static std::shared_ptr<const tls_context> context(const certificate_files& files) {
    return *tls_context::server({.certificates = {files}});
  }
  // Waits until connections from now on are treated like that.
  void use(std::shared_ptr<const tls_context> tls, std::chrono::milliseconds handshake_timeout) {
    std::promise<void> done;
    on.post([&] {
      server.use_tls(std::move(tls), handshake_timeout);
      done.set_value();
    });
    done.get_future().wait();
  }

  steady_wall_clock clock;
  loop on{clock};
  path_echo handler;
  http_server server{on, handler, {.linger_timeout = 200ms}};
  std::string folder;
  certificate_files first, second;
  std::uint16_t port = 0;
  std::thread thread;
};

// A client that waits for what comes; the server's certificate must be `trusted`.
struct tls_client {
  tls_client(std::uint16_t port, const certificate_files& trusted, std::string_view name)
      : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    const auto made = tls_context::client({.ca_file = trusted.certificate});
    session.emplace(**made, fd, tls_session::host_name{name});
  }
  ~tls_client() { ::close(fd); }

  // Sessions never wait; a test may.
  void wait(status for_what) const {
    pollfd one{.fd = fd,
               .events = for_what == status::want_write ? short{POLLOUT} : short{POLLIN},
               .revents = 0};
    ASSERT_EQ(::poll(&one, 1, 20'000), 1);
  }
  [[nodiscard]] bool shake() {
    status s;
    while ((s = session->handshake()) == status::want_read || s == status::want_write) wait(s);
    return s == status::done;
  }
  void send(std::string_view octets) {
    while (!octets.empty()) {
      const iovec piece{const_cast<char*>(octets.data()), octets.size()};
      std::size_t sent = 0;
      const status s = session->write(&piece, 1, sent);
      ASSERT_NE(s, status::failed);
      octets.remove_prefix(sent);
      if (!octets.empty()) wait(s);
    }
  }
  // Until it ends with `end`, or the connection does.
  std::string until(std::string_view end) {
    std::string out;
    std::array<char, 65536> room{};
    std::size_t octets = 0;
    while (!out.ends_with(end)) {
      last = session->read(room.data(), room.size(), octets);
      if (last == status::want_read || last == status::want_write) {
        wait(last);
        continue;
      }
      if (last != status::done) break;
      out.append(room.data(), octets);
    }
    return out;
  }

  int fd;
  std::optional<tls_session> session;
  status last = status::done;
};

std::string get(std::string_view path, std::string_view more = {}) {
  std::string out = "GET ";
  return out.append(path).append(" HTTP/1.1\r\nHost: a\r\n").append(more).append("\r\n");
}

// Records know nothing of requests: one octet in each, or hundreds of requests in one.
TEST_F(HttpServerTls, HowRequestsAreCutMakesNoDifference) {
  for (int client_number = 0; client_number < 3; ++client_number) {  // one connection object
    tls_client c(port, first, "first.test");
    ASSERT_TRUE(c.shake());
    for (const char octet : get("/octets")) c.send({&octet, 1});
    EXPECT_TRUE(c.until("/octets").starts_with("HTTP/1.1 200 OK\r\n"));
    std::string many;
    for (int i = 0; i < 300; ++i) many += get("/m");
    c.send(many + get("/last", "Connection: close\r\n"));
    const std::string got = c.until("/last");
    EXPECT_TRUE(got.ends_with("\r\n\r\n/last"));
    EXPECT_EQ(c.until("more"), "");
    EXPECT_EQ(c.last, status::ended) << "close_notify, not a cut";
  }
}

// A connection keeps what it began with; the next one has the new certificate.
TEST_F(HttpServerTls, NewCertificatesAreForNewConnections) {
  tls_client before(port, first, "first.test");
  ASSERT_TRUE(before.shake());
  use(context(second), 20s);
  before.send(get("/old"));
  EXPECT_TRUE(before.until("/old").ends_with("/old"));
  tls_client wrong(port, first, "first.test");
  EXPECT_FALSE(wrong.shake());
  tls_client after(port, second, "second.test");
  ASSERT_TRUE(after.shake());
  after.send(get("/new"));
  EXPECT_TRUE(after.until("/new").ends_with("/new"));
}

// Plain HTTP gets no answer in plain text, and a client that says nothing does not stay.
TEST_F(HttpServerTls, WhoDoesNotShakeHandsIsGone) {
  use(context(first), 30ms);
  for (const std::string& octets : {get("/plain"), std::string{}}) {
    tls_client c(port, first, "first.test");
    EXPECT_EQ(::send(c.fd, octets.data(), octets.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(octets.size()));
    std::string got;
    std::array<char, 4096> room{};
    for (ssize_t n = 0; (n = ::recv(c.fd, room.data(), room.size(), 0)) > 0;) {
      got.append(room.data(), static_cast<std::size_t>(n));
    }
    EXPECT_EQ(got.find("HTTP"), std::string::npos);
  }
}

// Who is still shaking hands is not waited for when the server is told to finish.
TEST_F(HttpServerTls, DrainingEndsHandshakes) {
  tls_client silent(port, first, "first.test");
  tls_client served(port, first, "first.test");  // accepted after the silent one
  ASSERT_TRUE(served.shake());
  std::promise<void> idle;
  on.post([&] {
    server.drain();
    server.when_idle([&] { idle.set_value(); });
  });
  EXPECT_EQ(idle.get_future().wait_for(15s), std::future_status::ready);  // not the 20 s
}

}  // namespace
}  // namespace penstock::net
