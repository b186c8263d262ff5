// Which node of a cluster serves a key: the 16,384 hash slots and how a node's answer describes
// them. Pure. Source: redis.io, "Redis cluster specification".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/resp.hpp"
#include "store/redis/redis_url.hpp"

namespace penstock::store::redis {

inline constexpr int slot_count = 16'384;

// CRC-16/XMODEM of the key, or of what stands between its first '{' and the first '}' behind it, if
// anything does.
[[nodiscard]] int slot_of(std::string_view key) noexcept;

struct slot_range {
  int first = 0;
  int last = 0;          // inclusive
  std::size_t node = 0;  // index into slot_map::masters
};

struct slot_map {
  std::vector<host_port> masters;
  std::vector<slot_range> ranges;
};

// `answer`: to CLUSTER SHARDS or CLUSTER SLOTS. `asked`: the host that answered, for nodes that are
// described without one. Empty when the answer is not such a description; shards without a master
// that is online are left out. `tls`: take the port for TLS where there is one.
[[nodiscard]] slot_map parse_shards(std::span<const net::resp::node> answer,
                                    const std::string& asked, bool tls);
[[nodiscard]] slot_map parse_slots(std::span<const net::resp::node> answer,
                                   const std::string& asked);

// A key "prefix:{n}" that lies in `slot`.
[[nodiscard]] std::string key_in_slot(std::string_view prefix, int slot);

}  // namespace penstock::store::redis
