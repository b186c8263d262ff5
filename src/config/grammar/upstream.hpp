// The API behind the gateway: "http://HOST[:PORT]", "https://HOST[:PORT]" or "unix:PATH".
#pragma once

#include <string>
#include <string_view>

#include "config/grammar/listen.hpp"
#include "config/grammar/parsed.hpp"

namespace penstock::config {

struct upstream_url {
  host_port at;           // port 80, or 443 with TLS, unless written
  std::string unix_path;  // not empty: a unix socket; `at` does not count
  bool tls = false;
  friend bool operator==(const upstream_url&, const upstream_url&) = default;
};

// A path, a query or user information is refused: the gateway forwards the client's target as it
// is.
[[nodiscard]] parsed<upstream_url> parse_upstream(std::string_view text);

// Reads back as the same.
[[nodiscard]] std::string to_text(const upstream_url& u);

}  // namespace penstock::config
