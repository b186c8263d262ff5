// The PROXY protocol header (versions 1 and 2) that a balancer sends ahead of a connection's first
// octet, so that the client's address survives it. Sans-I/O, stateless, no allocation; safe from
// any thread. Whether a listener expects the header and whom it believes is the caller's business:
// it is never guessed. Source: haproxy/haproxy doc/proxy-protocol.txt, sections 2.1 and 2.2.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock::net::proxy_protocol {

struct endpoint {
  std::array<std::uint8_t, 16> octets{};  // network order; the first `size` count
  std::uint8_t size = 0;                  // 4, 16, or 0 for none
  std::uint16_t port = 0;
  bool operator==(const endpoint&) const = default;
};

enum class parse_status : std::uint8_t { complete, need_more, bad };

struct parsed {
  parse_status status = parse_status::need_more;
  std::size_t consumed = 0;  // octets of the header, once complete
  // Size 0 in both: the sender vouches for no address (its own health check, UNKNOWN, a unix
  // socket); the socket's peer is the client.
  endpoint source;
  endpoint destination;
  const char* reason = "";  // a static sentence for the log, once bad
};

inline constexpr std::size_t v1_size_max = 107;   // CRLF included; the specification's own bound
inline constexpr std::size_t v2_size_max = 4096;  // ours: room for addresses and the usual TLVs

// Reads one header from the front of `buffer`, all octets received so far. A CRC32C in version 2 is
// verified. The verdict bad comes with the first octet that cannot belong to a header.
[[nodiscard]] parsed parse(std::string_view buffer) noexcept;

// CRC-32C (Castagnoli) of two pieces of text with four zero octets between them.
[[nodiscard]] std::uint32_t crc32c_around_zeros(std::string_view before,
                                                std::string_view after) noexcept;

}  // namespace penstock::net::proxy_protocol
