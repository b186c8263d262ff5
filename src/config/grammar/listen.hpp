// Where to listen: "HOST:PORT", ":PORT", "[::1]:80", "unix:PATH".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/grammar/parsed.hpp"

namespace penstock::config {

struct listen_address {
  std::string host{};       // empty: every address; without brackets
  std::uint16_t port = 0;   // 0: a free one
  std::string unix_path{};  // not empty: a unix socket; host and port do not count

  friend bool operator==(const listen_address&, const listen_address&) = default;
};

[[nodiscard]] parsed<listen_address> parse_listen(std::string_view text);

// Reads back as the same.
[[nodiscard]] std::string to_text(const listen_address& a);

// Only this machine reaches it: 127.0.0.0/8, ::1, localhost or a unix socket.
[[nodiscard]] bool is_local(const listen_address& a);

// "HOST:PORT" or "[V6]:PORT" or "HOST" with `default_port` (0: the port must be given).
// Shared with URLs; `host` may be empty only when `allow_empty_host`.
struct host_port {
  std::string host;  // without brackets
  std::uint16_t port = 0;
  friend bool operator==(const host_port&, const host_port&) = default;
};
enum class empty_host : bool { refused, allowed };
[[nodiscard]] parsed<host_port> parse_host_port(std::string_view text, std::uint16_t default_port,
                                                empty_host empty);
[[nodiscard]] std::string to_text(const host_port& h);

// A unix socket's path: 1..107 bytes (sun_path without its end), no NUL.
[[nodiscard]] parsed<std::string> parse_unix_path(std::string_view text);

}  // namespace penstock::config
