#include "net/listener.hpp"

#include <filesystem>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

namespace penstock::net {
namespace {

// The start-up line names the real port; a test or a script that asked for 0 depends on it.
TEST(Listener, PortZeroBecomesARealPortSharedByAllLoops) {
  auto opened = open_listener({.host = "127.0.0.1", .port = 0}, {.shares = 3});
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_NE(opened->where.port, 0);
  EXPECT_EQ(opened->sockets.size(), 3U);
}

// Two instances on one port would halve every limit without a word.
TEST(Listener, RefusesAPortThatAnotherInstanceShares) {
  auto first = open_listener({.host = "127.0.0.1", .port = 0}, {.shares = 2});
  ASSERT_TRUE(first);
  auto second = open_listener(first->where, {.shares = 2});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, errc::io);
  EXPECT_EQ(second.error().message,
            "address " + first->where.to_string() +
                " is in use: another program listens there; stop it or choose another port");
}

// A rolling restart needs exactly what the test above forbids, so it is a choice.
TEST(Listener, SharesThePortWhenBothAgree) {
  auto first = open_listener({.host = "127.0.0.1", .port = 0}, {.share_port = true});
  ASSERT_TRUE(first);
  auto second = open_listener(first->where, {.share_port = true});
  EXPECT_TRUE(second) << second.error().message;
}

// After a crash the socket file remains and must not keep the next start from listening.
TEST(Listener, ReplacesAStaleUnixSocketAndKeepsALiveOne) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("penstock-listener-" + std::to_string(::getpid())))
          .string();
  {
    auto live = open_listener({.unix_path = path}, {.shares = 2});
    ASSERT_TRUE(live) << live.error().message;
    EXPECT_EQ(live->sockets.size(), 2U);
    EXPECT_FALSE(open_listener({.unix_path = path}, {}));
  }
  auto again = open_listener({.unix_path = path}, {});
  EXPECT_TRUE(again) << again.error().message;
  ::unlink(path.c_str());
}

// "Cannot assign requested address" helps nobody.
TEST(Listener, NamesTheRemedyForAnAddressOfAnotherMachine) {
  auto opened = open_listener({.host = "192.0.2.1", .port = 0}, {});
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("does not belong to this machine"), std::string::npos);
}

}  // namespace
}  // namespace penstock::net
