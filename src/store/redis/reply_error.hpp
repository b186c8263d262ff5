// What an error answer of Redis means for the request that got it and for the node that sent it.
// Only the first word decides; scripts of Redis 6 wrap it. Pure. Source: redis.io, "RESP errors";
// server.c, cluster.c, script.c and acl.c of Redis 7.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock::store::redis {

enum class error_kind : std::uint8_t {
  no_script,   // send the text; nothing was executed
  moved,       // the slot lives elsewhere: resend there and learn the map
  ask,         // this once elsewhere, behind ASKING
  try_again,   // a slot on the move: resend soon
  not_master,  // READONLY, MASTERDOWN: find the master and resend; nothing was executed
  busy,        // LOADING, BUSY, CLUSTERDOWN, NOREPLICAS, MISCONF, OOM, too many clients: the node
               // does not serve now
  refused,     // NOAUTH, WRONGPASS, NOPERM: it will not serve us until somebody changes something
  other        // a fault of ours or of the script
};

[[nodiscard]] error_kind classify_error(std::string_view text) noexcept;

struct redirection {
  int slot = -1;          // -1: not readable
  std::string_view host;  // empty: the host that answered
  std::uint16_t port = 0;
};

// "MOVED 3999 127.0.0.1:6381", also with an IPv6 address or a name. Views into `text`.
[[nodiscard]] redirection parse_redirection(std::string_view text) noexcept;

}  // namespace penstock::store::redis
