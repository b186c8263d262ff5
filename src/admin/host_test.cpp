#include "admin/host.hpp"

#include <string>

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "admin/fake_operations.hpp"

namespace penstock::admin {
namespace {

std::string get(const std::string& address, const std::string& path) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port =
      htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const timeval limit{.tv_sec = 20, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  std::string out;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
    const std::string request =
        "GET " + path + " HTTP/1.1\r\nHost: " + address + "\r\nConnection: close\r\n\r\n";
    ::send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    char block[65536];
    for (ssize_t n = 0; (n = ::recv(fd, block, sizeof block, 0)) > 0;) {
      out.append(block, static_cast<std::size_t>(n));
    }
  }
  ::close(fd);
  return out;
}

struct Host : ::testing::Test {
  steady_wall_clock clock;
  fake_operations does;
  telemetry::metrics counts{{1, 2}};
  const net::endpoint local{.host = "127.0.0.1", .port = 0, .unix_path = {}};

  result<std::unique_ptr<host>> open(const host_options& o) {
    return host::open(o, does, counts, clock, [](std::string_view) {});
  }
};

// Both listeners answer over real sockets, from one thread, and stop when told.
TEST_F(Host, ServesBothListeners) {
  auto opened = open({.admin = local, .health = local, .who = {}});
  ASSERT_TRUE(opened) << opened.error().message;
  host& h = **opened;
  ASSERT_EQ(h.listeners().size(), 2U);
  EXPECT_EQ(h.listeners()[0].face, "admin");
  does.now_status.policy_generation = 7;
  h.start();
  const std::string& admin = h.listeners()[0].address;
  const std::string& health = h.listeners()[1].address;
  EXPECT_TRUE(get(health, "/livez").starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_TRUE(get(health, "/api/v1/status").starts_with("HTTP/1.1 404 "));
  EXPECT_TRUE(get(admin, "/api/v1/status").starts_with("HTTP/1.1 200 OK\r\n"));
  EXPECT_NE(get(admin, "/").find("<title>Penstock</title>"), std::string::npos);
  for (const std::string& address : {admin, health}) {
    const std::string metrics = get(address, "/metrics");
    EXPECT_NE(metrics.find("\npenstock_policy_generation 7\n"), std::string::npos);
    EXPECT_NE(metrics.find("\npenstock_ready 1\n"), std::string::npos);
    EXPECT_NE(metrics.find("\npenstock_resident_memory_bytes "), std::string::npos);
    EXPECT_NE(metrics.find("\npenstock_open_files "), std::string::npos);
  }
  h.stop();
  EXPECT_EQ(get(health, "/livez"), "");
}

// The debug ports of others stood open to the world; ours does not start that way.
TEST_F(Host, AnAdminListenerForTheWorldNeedsAToken) {
  const net::endpoint world{.host = "", .port = 0, .unix_path = {}};
  const auto refused = open({.admin = world, .health = {}, .who = {}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, errc::invalid_config);
  EXPECT_EQ(refused.error().message,
            "admin.listen: :0 can be reached from other machines: set admin.token, or listen on "
            "127.0.0.1");
  EXPECT_TRUE(open({.admin = world, .health = {}, .who = {.token = sha256("t"), .hosts = {}}}));
  EXPECT_TRUE(open({.admin = {}, .health = world, .who = {}}));
}

// A port in use is an error before anything is served.
TEST_F(Host, AnAddressInUseIsSaid) {
  auto first = open({.admin = {}, .health = local, .who = {}});
  ASSERT_TRUE(first);
  const std::string address = (*first)->listeners()[0].address;
  const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  const auto second =
      open({.admin = {},
            .health = net::endpoint{.host = "127.0.0.1", .port = port, .unix_path = {}},
            .who = {}});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, errc::io);
}

}  // namespace
}  // namespace penstock::admin
