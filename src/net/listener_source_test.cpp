#include "net/listener_source.hpp"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace penstock::net {
namespace {

// A process with `shares` loops that listened as `face`, and what it would leave to a successor.
struct former {
  former(const char* face, const endpoint& where, std::size_t shares) {
    auto opened = source.open(face, where, {.shares = shares});
    EXPECT_TRUE(opened) << opened.error().message;
    at = opened->where;
  }
  void add_to(std::vector<named_socket>& left) {
    for (const auto& s : source.kept()) {
      left.push_back({s.name, listening_socket(::dup(s.socket.descriptor()))});
    }
  }
  listener_source source;
  endpoint at;
};

struct row {
  const char* name;
  const char* left_as;  // face of the socket that was left
  std::size_t left;     // sockets
  const char* asks;     // face that opens
  bool any_port;        // its address says port 0
  const char* host;     // of its address
  std::size_t shares;   // loops
  std::size_t want;     // sockets it gets; 0: none of those that were left
};

// A successor may have another configuration and another number of loops. A queue of which no loop
// takes connections would swallow clients.
TEST(ListenerSource, TakesEverySocketOfTheAddressAndNoOther) {
  const row rows[] = {
      {"same again", "gateway", 2, "gateway", false, "127.0.0.1", 2, 2},
      {"more loops share", "gateway", 2, "gateway", false, "127.0.0.1", 5, 5},
      {"fewer loops take all", "gateway", 3, "gateway", false, "127.0.0.1", 1, 3},
      {"a manager's own name", "penstock.socket", 1, "gateway", false, "127.0.0.1", 1, 1},
      {"port 0 by its face", "gateway", 2, "gateway", true, "127.0.0.1", 2, 2},
      {"port 0 of another face", "admin", 1, "gateway", true, "127.0.0.1", 2, 0},
      {"another host", "gateway", 1, "gateway", true, "127.0.0.2", 1, 0},
  };
  for (const auto& r : rows) {
    SCOPED_TRACE(r.name);
    former before(r.left_as, {.host = "127.0.0.1", .port = 0}, r.left);
    std::vector<named_socket> left;
    before.add_to(left);
    listener_source after(std::move(left));
    endpoint where = before.at;
    where.host = r.host;
    if (r.any_port) where.port = 0;
    auto opened = after.open(r.asks, where, {.shares = r.shares});
    ASSERT_TRUE(opened) << opened.error().message;
    if (r.want == 0) {
      EXPECT_EQ(after.close_unclaimed(), r.left);
    } else {
      EXPECT_EQ(opened->sockets.size(), r.want);
      EXPECT_EQ(opened->where.port, before.at.port);
      EXPECT_EQ(after.kept().size(), r.want);
      EXPECT_EQ(after.close_unclaimed(), 0U);
    }
  }
}

// The path is known to the clients; it must neither be replaced nor be called in use.
TEST(ListenerSource, TakesAUnixSocketByItsPath) {
  const std::string path = "/tmp/penstock-source-" + std::to_string(::getpid());
  {
    former before("decision", {.unix_path = path}, 2);
    std::vector<named_socket> left;
    before.add_to(left);
    listener_source after(std::move(left));
    auto opened = after.open("decision", {.unix_path = path}, {.shares = 1});
    ASSERT_TRUE(opened) << opened.error().message;
    EXPECT_EQ(opened->sockets.size(), 2U);
  }
  ::unlink(path.c_str());
}

// A process that ends without a successor must refuse clients, not let them wait for nobody.
TEST(ListenerSource, KeepsASocketOpenUntilItIsToldNotTo) {
  listener_source source;
  endpoint where{.host = "127.0.0.1", .port = 0};
  {
    auto opened = source.open("gateway", where, {});
    ASSERT_TRUE(opened);
    where = opened->where;
  }
  EXPECT_FALSE(open_listener(where, {}));
  source.close_kept();
  auto again = open_listener(where, {});
  EXPECT_TRUE(again) << again.error().message;
}

}  // namespace
}  // namespace penstock::net
