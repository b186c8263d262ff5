// Servers that break the protocol or the connection. Faults are named F… as in
// docs/decisions/0006-redis-store.md.
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <gtest/gtest.h>

#include "redis_server.hpp"
#include "store_runner.hpp"

namespace penstock::redis_test {
namespace {

using namespace std::chrono_literals;
using boost::asio::ip::tcp;
using boost::system::error_code;

// A Redis that greets well and then answers each command with what the test says. Runs on the loop
// of the store under test.
class fake_redis {
 public:
  explicit fake_redis(boost::asio::io_context& context)
      : acceptor_(context, tcp::endpoint(boost::asio::ip::address_v4::loopback(), 0)) {}

  [[nodiscard]] std::string url() const {
    return "redis://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port());
  }
  void start() { accept(); }

  // The answer to a command by its first word; empty: none.
  std::function<std::string(const std::string&)> answer = [](const std::string&) {
    return "+OK\r\n";
  };
  bool close_at_once = false;
  std::size_t connections = 0;

 private:
  struct client {
    explicit client(tcp::socket s) : socket(std::move(s)) {}
    tcp::socket socket;
    std::string in;
    std::string out;
    char buffer[65536];
    net::resp::reader reader;
  };

  void accept() {
    acceptor_.async_accept([this](const error_code& failed, tcp::socket socket) {
      if (failed) return;
      ++connections;
      if (!close_at_once) read(std::make_shared<client>(std::move(socket)));
      accept();
    });
  }
  void read(const std::shared_ptr<client>& c) {
    c->socket.async_read_some(boost::asio::buffer(c->buffer),
                              [this, c](const error_code& failed, std::size_t n) {
                                if (failed) return;
                                c->in.append(c->buffer, n);
                                while (c->reader.read(c->in) == net::resp::read_status::complete) {
                                  c->out += answer(std::string(c->reader.nodes()[1].text));
                                  c->in.erase(0, c->reader.consumed());
                                  c->reader.reset();
                                }
                                error_code ignored;
                                boost::asio::write(c->socket, boost::asio::buffer(c->out), ignored);
                                c->out.clear();
                                read(c);
                              });
  }

  tcp::acceptor acceptor_;
};

struct hostile_row {
  const char* name;
  std::string answer;
};

const counter& some() {
  static const counter c =
      make_counter("some", {.kind = algorithm::fixed_window, .count = 10, .period = 24h});
  return c;
}

bool is_call(const std::string& word) {
  return word == "EVALSHA";
}

// F7: each of these must end the connection or the request, never the process, and never be taken
// for a verdict.
TEST(HostileRedis, F7BreaksTheProtocol) {
  std::string deep;
  for (int i = 0; i < 20; ++i) deep += "*1\r\n";
  const hostile_row rows[] = {
      {"garbage", "\x01\x02\x03 nonsense\r\n"},
      {"an HTTP answer", "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"},
      {"two gigabytes", "$2147483647\r\n"},
      {"deep nesting", deep},
      {"endless line", "+" + std::string(200'000, 'a')},
      {"another shape", "+OK\r\n"},
      {"too few numbers", "*2\r\n:1\r\n:1\r\n"},
      {"too many numbers", "*8\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n"},
      {"texts for numbers", "*7\r\n+1\r\n+1\r\n+1\r\n+1\r\n+1\r\n+1\r\n+1\r\n"},
      {"null", "$-1\r\n"},
      {"two answers", "-ERR one\r\n-ERR two\r\n"},
      {"an error without a word", "-\r\n"},
      {"a redirection of no cluster", "-MOVED 1 127.0.0.1:1\r\n"},
      {"a redirection to nowhere", "-ASK x y\r\n"},
      {"no script, again and again", "-NOSCRIPT No matching script.\r\n"},
      {"not a master", "-READONLY You can't write against a read only replica.\r\n"},
  };
  for (const hostile_row& row : rows) {
    store_runner r("redis://127.0.0.1:1", 300ms);
    fake_redis fake(r.context());
    fake.answer = [&](const std::string& word) {
      return is_call(word) || word == "EVAL" ? row.answer : std::string("+OK\r\n");
    };
    fake.start();
    auto parsed = store::redis::parse_redis_url(fake.url());
    ASSERT_TRUE(parsed);
    store::redis::redis_options options;
    options.url = *parsed;
    options.deadline = 300ms;
    auto made = store::redis::redis_store::make(r.context(), std::move(options));
    ASSERT_TRUE(made);
    store::redis::redis_store& s = **made;
    ASSERT_TRUE(r.run_until([&] { return s.serving(); })) << row.name;
    for (int i = 0; i < 10; ++i) {
      const charge one{.what = &some(), .key = "k"};
      verdict v;
      store::batch b{.charges = {&one, 1}, .verdicts = {&v, 1}};
      if (s.check(b, {}) == store::progress::pending) r.wait(b);
      EXPECT_TRUE(b.failed) << row.name;
    }
  }
}

// F17: a server that ends each connection must not be called upon in a storm.
TEST(HostileRedis, F17DoesNotReconnectInAStorm) {
  store_runner r("redis://127.0.0.1:1", 300ms);
  fake_redis fake(r.context());
  fake.close_at_once = true;
  fake.start();
  store::redis::redis_options options;
  options.url = *store::redis::parse_redis_url(fake.url());
  auto made = store::redis::redis_store::make(r.context(), std::move(options));
  ASSERT_TRUE(made);
  r.run_for(3s);
  EXPECT_GE(fake.connections, 3U);
  EXPECT_LE(fake.connections, 15U) << "more than 5 a second";
}

}  // namespace
}  // namespace penstock::redis_test
