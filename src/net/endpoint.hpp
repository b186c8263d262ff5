// Where to listen or to connect: a plain value. config reads it from text; nothing is resolved
// here.
#pragma once

#include <cstdint>
#include <string>

namespace penstock::net {

struct endpoint {
  std::string host{};       // name or address without brackets; empty: every local address
  std::uint16_t port = 0;   // 0 when listening: the system picks one
  std::string unix_path{};  // not empty: a unix socket (at most 107 octets); the rest is unused

  [[nodiscard]] bool is_unix() const noexcept { return !unix_path.empty(); }
  // "127.0.0.1:8080", "[::1]:8080", ":8080", "unix:/run/penstock.sock".
  [[nodiscard]] std::string to_string() const;
};

}  // namespace penstock::net
