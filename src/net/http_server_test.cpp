#include "net/http_server.hpp"

#include <atomic>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace penstock::net {
namespace {

// Echoes what it was asked; "/later" is answered by a post, "/never" not at all.
struct echo final : http_handler {
  void handle(http_exchange& x) override {
    const auto& h = x.head();
    if (h.path == "/later") {
      waiting = &x;
      on->post([this] {
        if (waiting != nullptr)
          std::exchange(waiting, nullptr)->answer(200, "text/plain", "late\n");
      });
    } else if (h.path == "/never") {
      waiting = &x;
      reached.set_value();
    } else if (h.path == "/big") {
      x.answer(200, "text/plain", std::string(4U << 20U, 'b'));
    } else if (h.path == "/empty") {
      x.answer(204, {}, {}, "X-One: 1\r\n");
    } else if (h.path == "/close") {
      x.close_after();
      x.answer(200, "text/plain", "bye\n");
    } else if (h.path == "/missing") {
      answer_not_found(x);
    } else if (h.path == "/post-only") {
      answer_method_not_allowed(x, "POST");
    } else {
      std::string text(h.method);
      text.append(" ").append(h.path).append(" ").append(x.body()).append("\n");
      x.answer(200, "text/plain", text);
    }
  }
  void abandoned(http_exchange&) override {
    waiting = nullptr;
    left.set_value();
  }
  void connection_opened() override { ++opened; }
  void connection_closed() override {
    ++closed;
    closed.notify_all();
  }
  void connection_refused() override { ++refused; }
  void malformed() override { ++bad; }

  loop* on = nullptr;
  http_exchange* waiting = nullptr;
  std::promise<void> reached, left;
  int opened = 0, refused = 0, bad = 0;
  std::atomic<int> closed = 0;
};

// A server on its own thread. Everything that a test reads of the handler, it reads after stop().
struct served {
  explicit served(http_server_options options = {}) {
    options.linger_timeout = std::chrono::milliseconds{200};
    handler.on = &on;
    server.emplace(on, handler, options);
    auto opened = open_listener({.host = "127.0.0.1", .port = 0, .unix_path = {}}, {});
    EXPECT_TRUE(opened);
    port = opened->where.port;
    server->listen(std::move(opened->sockets));
    thread = std::thread([this] { on.run(); });
  }
  ~served() { stop(); }

  void stop() {
    if (!thread.joinable()) return;
    on.post([this] {
      server->shut_down();
      server->when_idle([this] { on.stop(); });
    });
    thread.join();
  }

  steady_wall_clock clock;
  loop on{clock};
  echo handler;
  std::optional<http_server> server;
  std::uint16_t port = 0;
  std::thread thread;
};

struct client {
  explicit client(std::uint16_t port) : fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval limit{.tv_sec = 20, .tv_usec = 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  ~client() { ::close(fd); }

  void send(std::string_view octets) const {
    while (!octets.empty()) {
      const auto n = ::send(fd, octets.data(), octets.size(), MSG_NOSIGNAL);
      ASSERT_GT(n, 0);
      octets.remove_prefix(static_cast<std::size_t>(n));
    }
  }
  void finish() const { ::shutdown(fd, SHUT_WR); }
  // Until the server closes.
  [[nodiscard]] std::string all() const {
    std::string out;
    char block[65536];
    for (ssize_t n = 0; (n = ::recv(fd, block, sizeof block, 0)) > 0;) {
      out.append(block, static_cast<std::size_t>(n));
    }
    return out;
  }
  // At least `n` octets.
  [[nodiscard]] std::string some(std::size_t n) const {
    std::string out;
    char block[4096];
    while (out.size() < n) {
      const auto got = ::recv(fd, block, sizeof block, 0);
      if (got <= 0) break;
      out.append(block, static_cast<std::size_t>(got));
    }
    return out;
  }

  int fd;
};

// The contents of the responses in `stream`, each as "status content".
std::vector<std::string> answers(std::string_view stream) {
  std::vector<std::string> out;
  http1::response_parser parser;
  http1::response_head head;
  while (!stream.empty() && parser.parse(stream, "GET", head) == http1::parse_status::complete) {
    const std::string_view content = stream.substr(parser.consumed(), head.content_length);
    out.push_back(std::to_string(head.status) + " " + std::string(content));
    stream.remove_prefix(parser.consumed() + content.size());
    parser.reset();
  }
  EXPECT_TRUE(stream.empty()) << stream.substr(0, 200);
  return out;
}

using list = std::vector<std::string>;

// The shape of a response: what a client needs to read it, and nothing about us.
TEST(HttpServer, AnswersWithDateLengthAndContent) {
  served s;
  const client c(s.port);
  c.send("GET /x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  const std::string got = c.all();
  EXPECT_TRUE(got.starts_with("HTTP/1.1 200 OK\r\nDate: ")) << got;
  EXPECT_TRUE(
      got.ends_with("GMT\r\nContent-Type: text/plain\r\nContent-Length: 8\r\n"
                    "Connection: close\r\n\r\nGET /x \n"))
      << got;
}

// Requests in one segment, octet by octet, and with bodies of both framings are the same requests.
TEST(HttpServer, HowARequestIsCutMakesNoDifference) {
  const std::string requests =
      "GET /a HTTP/1.1\r\nHost: a\r\n\r\n"
      "POST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello"
      "PUT /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: "
      "chunked\r\n\r\n3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n"
      "GET /later HTTP/1.1\r\nHost: a\r\n\r\n"
      "GET /d HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
  const list want = {"200 GET /a \n", "200 POST /b hello\n", "200 PUT /c abcdefg\n", "200 late\n",
                     "200 GET /d \n"};
  served s;
  for (const std::size_t piece :
       {requests.size(), std::size_t{1}, std::size_t{7}, std::size_t{50}}) {
    const client c(s.port);
    for (std::size_t i = 0; i < requests.size(); i += piece) {
      c.send(std::string_view(requests).substr(i, piece));
    }
    EXPECT_EQ(answers(c.all()), want) << "pieces of " << piece;
  }
}

// Many small answers and a few that fill the socket: order and octets stay right.
TEST(HttpServer, PipelinedRequestsAreAnsweredInOrderWhateverTheirSize) {
  served s;
  const client c(s.port);
  std::string requests;
  list want;
  for (int i = 0; i < 2000; ++i) {
    const bool big = i % 700 == 350;
    const std::string path = big ? "/big" : "/" + std::to_string(i);
    requests += "GET " + path + " HTTP/1.1\r\nHost: a\r\n\r\n";
    want.push_back(big ? "200 " + std::string(4U << 20U, 'b') : "200 GET " + path + " \n");
  }
  requests += "GET /close HTTP/1.1\r\nHost: a\r\n\r\n";
  want.emplace_back("200 bye\n");
  std::thread sender([&] { c.send(requests); });
  const list got = answers(c.all());
  sender.join();
  EXPECT_EQ(got, want);
}

// HEAD says how long the content would be; 204 has none and no length.
TEST(HttpServer, HeadAndNoContentHaveNoBody) {
  served s;
  const client c(s.port);
  c.send(
      "HEAD /x HTTP/1.1\r\nHost: a\r\n\r\nGET /empty HTTP/1.1\r\nHost: a\r\nConnection: "
      "close\r\n\r\n");
  const std::string got = c.all();
  const std::size_t second = got.find("HTTP/1.1 204 No Content");
  ASSERT_NE(second, std::string::npos) << got;
  EXPECT_NE(got.find("Content-Length: 9\r\n\r\nHTTP/1.1 204"), std::string::npos) << got;
  EXPECT_EQ(got.find("Content-Length", second), std::string::npos);
  EXPECT_NE(got.find("X-One: 1\r\n", second), std::string::npos);
}

// What is malformed or too large gets its status, a reason and the end of the connection.
TEST(HttpServer, RefusesWhatItMustNotTake) {
  struct row {
    const char* name;
    std::string request;
    const char* want;
  };
  const row rows[] = {
      {"no host", "GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "},
      {"bare line feed", "GET / HTTP/1.1\nHost: a\r\n\r\n", "HTTP/1.1 400 "},
      {"long line", "GET /" + std::string(9000, 'x') + " HTTP/1.1\r\n", "HTTP/1.1 414 "},
      {"large head", "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(17'000, 'x'),
       "HTTP/1.1 431 "},
      {"large length", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n",
       "HTTP/1.1 413 "},
      {"large chunks",
       "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n100001\r\n" +
           std::string(0x100001, 'x'),
       "HTTP/1.1 413 "},
      {"broken chunk", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
       "HTTP/1.1 400 "},
      {"two lengths",
       "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
       "HTTP/1.1 400 "},
  };
  served s;
  for (const row& r : rows) {
    const client c(s.port);
    c.send(r.request);
    const std::string got = c.all();
    EXPECT_TRUE(got.starts_with(r.want)) << r.name << ": " << got.substr(0, 100);
    EXPECT_NE(got.find("Connection: close\r\n"), std::string::npos) << r.name;
  }
  s.stop();
  EXPECT_EQ(s.handler.bad, static_cast<int>(std::size(rows)));
}

// A client that waits for 100 gets it, one that sends anyway does not.
TEST(HttpServer, SaysContinueToWhoWaitsForIt) {
  served s;
  const client c(s.port);
  c.send("POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
  EXPECT_EQ(c.some(25), "HTTP/1.1 100 Continue\r\n\r\n");
  c.send(
      "okPOST /y HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n"
      "Connection: close\r\n\r\nok");
  EXPECT_EQ(answers(c.all()), (list{"200 POST /x ok\n", "200 POST /y ok\n"}));
}

// HTTP/1.0: closed unless asked otherwise.
TEST(HttpServer, OldClientsAreServed) {
  served s;
  const client once(s.port);
  once.send("GET /a HTTP/1.0\r\n\r\n");
  EXPECT_NE(once.all().find("Connection: close\r\n"), std::string::npos);
  const client kept(s.port);
  kept.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_NE(kept.some(60).find("Connection: keep-alive\r\n"), std::string::npos);
}

// A queue's place must come back when the client is gone (it would delay others for nobody).
TEST(HttpServer, TellsTheHandlerThatTheClientLeft) {
  served s;
  {
    const client c(s.port);
    c.send("GET /never HTTP/1.1\r\nHost: a\r\n\r\n");
    s.handler.reached.get_future().wait();
    const linger now{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  }
  EXPECT_EQ(s.handler.left.get_future().wait_for(std::chrono::seconds{20}),
            std::future_status::ready);
}

// A client that ends its half after the request still wants the answer.
TEST(HttpServer, AnswersAHalfClosedClient) {
  served s;
  const client c(s.port);
  c.send("GET /later HTTP/1.1\r\nHost: a\r\n\r\n");
  c.finish();
  EXPECT_EQ(answers(c.all()), (list{"200 late\n"}));
}

// Who does not send, does not finish or does not read is cut off; the bound is the option's.
TEST(HttpServer, SlowClientsAreCutOff) {
  served s({.idle_timeout = std::chrono::milliseconds{100},
            .head_timeout = std::chrono::milliseconds{100},
            .body_timeout = std::chrono::milliseconds{100},
            .write_timeout = std::chrono::milliseconds{100}});
  const client silent(s.port), half(s.port), body(s.port), deaf(s.port);
  half.send("GET / HTTP/1.1\r\nHo");
  body.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc");
  // More than the system buffers for a connection.
  for (int i = 0; i < 8; ++i) deaf.send("GET /big HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(silent.all(), "");
  EXPECT_TRUE(half.all().starts_with("HTTP/1.1 408 "));
  EXPECT_TRUE(body.all().starts_with("HTTP/1.1 408 "));
  const client after(s.port);
  after.send("GET /close HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(answers(after.all()), (list{"200 bye\n"}));
  for (int n = 0; (n = s.handler.closed) < 5;) s.handler.closed.wait(n);
  EXPECT_LT(deaf.all().size(), 8 * (4U << 20U));
}

// A bound on connections, and every one of them accounted for at the end.
TEST(HttpServer, ConnectionsAreBoundedAndCounted) {
  served s({.connections_max = 2});
  {
    const client one(s.port), two(s.port);
    one.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
    two.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_GT(one.some(1).size(), 0U);
    EXPECT_GT(two.some(1).size(), 0U);
    const client three(s.port);
    EXPECT_EQ(three.all(), "");
  }
  s.stop();
  EXPECT_EQ(s.handler.opened, 2);
  EXPECT_EQ(s.handler.closed, 2);
  EXPECT_EQ(s.handler.refused, 1);
}

// Draining answers what is under way, says that it closes, and leaves idle clients.
TEST(HttpServer, DrainsAfterTheAnswerThatIsDue) {
  served s;
  const client idle(s.port), busy(s.port);
  busy.send("GET /never HTTP/1.1\r\nHost: a\r\n\r\n");
  s.handler.reached.get_future().wait();
  std::promise<void> empty;
  s.on.post([&] {
    s.server->drain();
    s.server->when_idle([&] { empty.set_value(); });
  });
  EXPECT_EQ(idle.all(), "");
  s.on.post([&] { std::exchange(s.handler.waiting, nullptr)->answer(200, "text/plain", "done"); });
  const std::string got = busy.all();
  EXPECT_NE(got.find("Connection: close\r\n"), std::string::npos);
  EXPECT_EQ(answers(got), (list{"200 done"}));
  EXPECT_EQ(empty.get_future().wait_for(std::chrono::seconds{20}), std::future_status::ready);
}

// Faces trust loopback and unix sockets with more; the check must not be fooled by a mapped
// address.
TEST(PeerAddress, KnowsWhatIsLocal) {
  using kind = peer_address::kind;
  EXPECT_TRUE((peer_address{kind::unix_socket, {}}.is_local()));
  EXPECT_TRUE((peer_address{kind::v4, {127, 9, 9, 9}}.is_local()));
  EXPECT_FALSE((peer_address{kind::v4, {128, 0, 0, 1}}.is_local()));
  peer_address six{kind::v6, {}};
  EXPECT_FALSE(six.is_local());
  six.octets.back() = 1;
  EXPECT_TRUE(six.is_local());
  six.octets[0] = 0xfe;
  EXPECT_FALSE(six.is_local());
}

}  // namespace
}  // namespace penstock::net
