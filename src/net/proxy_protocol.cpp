#include "net/proxy_protocol.hpp"

#include <algorithm>

#include <arpa/inet.h>

namespace penstock::net::proxy_protocol {

namespace {

constexpr std::string_view v1_prefix = "PROXY ";
constexpr std::string_view v2_signature("\r\n\r\n\0\r\nQUIT\n", 12);
constexpr std::size_t v2_fixed_size = 16;

parsed need_more() noexcept {
  return {};
}

parsed bad(const char* reason) noexcept {
  parsed p;
  p.status = parse_status::bad;
  p.reason = reason;
  return p;
}

parsed complete(std::size_t consumed) noexcept {
  parsed p;
  p.status = parse_status::complete;
  p.consumed = consumed;
  return p;
}

// The two may differ in length; equal as far as both go.
bool agree(std::string_view a, std::string_view b) noexcept {
  const std::size_t n = std::min(a.size(), b.size());
  return a.substr(0, n) == b.substr(0, n);
}

// --- version 1
// -------------------------------------------------------------------------------------

// Takes the text up to the next space, or all of it, off `rest`.
std::string_view take_word(std::string_view& rest) noexcept {
  const std::size_t space = std::min(rest.find(' '), rest.size());
  const std::string_view word = rest.substr(0, space);
  rest.remove_prefix(std::min(space + 1, rest.size()));
  return word;
}

bool parse_address(int family, std::string_view text, endpoint& out) noexcept {
  std::array<char, INET6_ADDRSTRLEN> terminated{};
  if (text.size() >= terminated.size()) return false;
  std::ranges::copy(text, terminated.begin());
  // inet_pton stops at a NUL of the text itself.
  if (text.find('\0') != std::string_view::npos) return false;
  out.size = family == AF_INET ? 4 : 16;
  return inet_pton(family, terminated.data(), out.octets.data()) == 1;
}

bool parse_port(std::string_view text, std::uint16_t& out) noexcept {
  if (text.empty() || text.size() > 5 || (text.size() > 1 && text.front() == '0')) return false;
  unsigned n = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return false;
    n = n * 10U + static_cast<unsigned>(c - '0');
  }
  out = static_cast<std::uint16_t>(n);
  return n <= 65535U;
}

// `line` is what stands between the prefix and CRLF.
parsed parse_v1_line(std::string_view line, std::size_t consumed) noexcept {
  parsed p = complete(consumed);
  if (line == "UNKNOWN" || line.starts_with("UNKNOWN ")) return p;
  // Exactly five words with one space between them and none behind.
  if (std::ranges::count(line, ' ') != 4) return bad("a version 1 header that is not five words");
  const std::string_view protocol = take_word(line);
  if (protocol != "TCP4" && protocol != "TCP6") return bad("an unknown protocol in version 1");
  const int family = protocol == "TCP4" ? AF_INET : AF_INET6;
  if (!parse_address(family, take_word(line), p.source) ||
      !parse_address(family, take_word(line), p.destination)) {
    return bad("an address that is none of its family");
  }
  if (!parse_port(take_word(line), p.source.port) || !parse_port(line, p.destination.port)) {
    return bad("a port that is not 0 to 65535 without leading zeros");
  }
  return p;
}

parsed parse_v1(std::string_view buffer) noexcept {
  if (!agree(buffer, v1_prefix)) return bad("neither signature");
  const std::string_view window = buffer.substr(0, v1_size_max);
  const std::size_t end = window.find_first_of("\r\n");
  if (end == std::string_view::npos) {
    return window.size() == v1_size_max ? bad("a version 1 header over 107 octets") : need_more();
  }
  if (window[end] == '\n') return bad("a line feed alone in version 1");
  if (end + 2 > v1_size_max) return bad("a version 1 header over 107 octets");
  if (end + 1 == window.size()) return need_more();
  if (window[end + 1] != '\n') return bad("a carriage return alone in version 1");
  return parse_v1_line(window.substr(v1_prefix.size(), end - v1_prefix.size()), end + 2);
}

// --- version 2
// -------------------------------------------------------------------------------------

unsigned octet_at(std::string_view s, std::size_t i) noexcept {
  return static_cast<unsigned char>(s[i]);
}

unsigned big_endian_16(std::string_view s, std::size_t i) noexcept {
  return octet_at(s, i) << 8U | octet_at(s, i + 1);
}

std::uint32_t big_endian_32(std::string_view s, std::size_t i) noexcept {
  return std::uint32_t{big_endian_16(s, i)} << 16U | big_endian_16(s, i + 2);
}

void copy_address(std::string_view from, std::uint8_t size, endpoint& to) noexcept {
  to.size = size;
  for (std::size_t i = 0; i < size; ++i) to.octets[i] = static_cast<std::uint8_t>(from[i]);
}

constexpr std::array<std::uint32_t, 256> crc32c_table = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = (c & 1U) != 0 ? c >> 1U ^ 0x82f63b78U : c >> 1U;
    table[i] = c;
  }
  return table;
}();

std::uint32_t crc32c_more(std::uint32_t crc, std::string_view text) noexcept {
  for (const char c : text) {
    crc = crc32c_table[(crc ^ static_cast<unsigned char>(c)) & 0xffU] ^ crc >> 8U;
  }
  return crc;
}

// Walks the TLVs of `header` from `at`; returns nullptr or what is wrong. Only the checksum means
// something to us; the others are stepped over.
const char* check_tlvs(std::string_view header, std::size_t at) noexcept {
  constexpr unsigned type_crc32c = 0x03;
  bool checked = false;
  while (at < header.size()) {
    if (header.size() - at < 3) return "a TLV that is cut";
    const unsigned type = octet_at(header, at);
    const std::size_t size = big_endian_16(header, at + 1);
    at += 3;
    if (size > header.size() - at) return "a TLV that runs past the header";
    if (type == type_crc32c) {
      if (size != 4 || checked) return "a checksum that is not one of four octets";
      checked = true;
      const std::uint32_t want = big_endian_32(header, at);
      if (crc32c_around_zeros(header.substr(0, at), header.substr(at + 4)) != want) {
        return "a checksum that does not match";
      }
    }
    at += size;
  }
  return nullptr;
}

// `header` is complete; its command is PROXY.
parsed parse_v2_proxied(std::string_view header) noexcept {
  parsed p = complete(header.size());
  const unsigned family = octet_at(header, 13) >> 4U;
  const unsigned transport = octet_at(header, 13) & 0x0fU;
  const std::string_view body = header.substr(v2_fixed_size);
  if (family > 3 || transport > 2) return bad("an unknown family or transport in version 2");
  // Without family or transport there is no address to read, and what follows has no known shape.
  if (family == 0 || transport == 0) return p;
  if (transport == 2) return bad("a datagram transport ahead of a stream");

  const std::uint8_t size = family == 1 ? 4 : 16;
  const std::size_t addresses = family == 3 ? 216 : 2U * size + 4U;
  if (body.size() < addresses) return bad("addresses that are cut");
  if (family != 3) {
    copy_address(body, size, p.source);
    copy_address(body.substr(size), size, p.destination);
    p.source.port = static_cast<std::uint16_t>(big_endian_16(body, 2U * size));
    p.destination.port = static_cast<std::uint16_t>(big_endian_16(body, 2U * size + 2U));
  }
  if (const char* wrong = check_tlvs(header, v2_fixed_size + addresses)) return bad(wrong);
  return p;
}

parsed parse_v2(std::string_view buffer) noexcept {
  if (!agree(buffer, v2_signature)) return bad("neither signature");
  constexpr std::size_t command_at = 12;
  if (buffer.size() <= command_at) return need_more();
  const unsigned version = octet_at(buffer, command_at) >> 4U;
  const unsigned command = octet_at(buffer, command_at) & 0x0fU;
  if (version != 2 || command > 1) return bad("an unknown version or command");
  if (buffer.size() < v2_fixed_size) return need_more();
  const std::size_t size = v2_fixed_size + big_endian_16(buffer, 14);
  if (size > v2_size_max) return bad("a version 2 header over our limit");
  if (buffer.size() < size) return need_more();
  // LOCAL: the sender speaks for itself; what follows is stepped over unread.
  return command == 0 ? complete(size) : parse_v2_proxied(buffer.substr(0, size));
}

}  // namespace

parsed parse(std::string_view buffer) noexcept {
  if (buffer.empty()) return need_more();
  return buffer.front() == v2_signature.front() ? parse_v2(buffer) : parse_v1(buffer);
}

std::uint32_t crc32c_around_zeros(std::string_view before, std::string_view after) noexcept {
  std::uint32_t crc = crc32c_more(0xffffffffU, before);
  crc = crc32c_more(crc, std::string_view("\0\0\0\0", 4));
  return ~crc32c_more(crc, after);
}

}  // namespace penstock::net::proxy_protocol
