#include "net/proxy_protocol.hpp"

#include <string>

#include <gtest/gtest.h>

namespace penstock::net::proxy_protocol {
namespace {

std::string unhex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    out += static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16));
  }
  return out;
}

std::string text(const endpoint& e) {
  std::string out;
  for (std::size_t i = 0; i < e.size; ++i) out += (i == 0 ? "" : ".") + std::to_string(e.octets[i]);
  return e.size == 0 ? "none" : out + ':' + std::to_string(e.port);
}

const std::string v2 = unhex("0d0a0d0a000d0a515549540a");
const std::string v4_pair = unhex("c0000201c6336401dc0401bb");
const std::string documentation_v6 = "32.1.13.184.0.0.0.0.0.0.0.0.0.0.0.";

struct good_row {
  const char* name;
  std::string header;
  std::string source;
  std::string destination;
};

// The address found here is what limits count by.
TEST(ProxyProtocol, ReadsTheClientFromEachForm) {
  const good_row rows[] = {
      {"v1 TCP4", "PROXY TCP4 192.168.0.1 192.168.0.11 56324 443\r\n", "192.168.0.1:56324",
       "192.168.0.11:443"},
      {"v1 TCP6", "PROXY TCP6 2001:db8::1 2001:DB8::2 0 65535\r\n", documentation_v6 + "1:0",
       documentation_v6 + "2:65535"},
      {"v1 UNKNOWN", "PROXY UNKNOWN\r\n", "none", "none"},
      {"v1 UNKNOWN and more", "PROXY UNKNOWN ffff::1 what  ever\r\n", "none", "none"},
      {"v2 TCP4", v2 + unhex("2111000c") + v4_pair, "192.0.2.1:56324", "198.51.100.1:443"},
      {"v2 TCP6",
       v2 + unhex(
                "2121002420010db800000000000000000000000120010db8000000000000000000000002dc0401bb"),
       documentation_v6 + "1:56324", documentation_v6 + "2:443"},
      {"v2 TCP4 with NOOP", v2 + unhex("21110012") + v4_pair + unhex("040003000000"),
       "192.0.2.1:56324", "198.51.100.1:443"},
      {"v2 LOCAL", v2 + unhex("20000000"), "none", "none"},
      {"v2 LOCAL with octets", v2 + unhex("20110003") + "abc", "none", "none"},
      {"v2 UNSPEC", v2 + unhex("21000003") + "abc", "none", "none"},
      {"v2 UNIX", v2 + unhex("213100d8") + std::string(216, 'u'), "none", "none"},
  };
  for (const good_row& row : rows) {
    for (std::size_t n = 0; n < row.header.size(); ++n) {
      EXPECT_EQ(parse(row.header.substr(0, n)).status, parse_status::need_more) << row.name << n;
    }
    for (const char* behind : {"", "GET / HTTP/1.1\r\n", "\n"}) {
      const parsed p = parse(row.header + behind);
      ASSERT_EQ(p.status, parse_status::complete) << row.name << ": " << p.reason;
      EXPECT_EQ(p.consumed, row.header.size()) << row.name;
      EXPECT_EQ(text(p.source), row.source) << row.name;
      EXPECT_EQ(text(p.destination), row.destination) << row.name;
    }
  }
}

struct bad_row {
  const char* name;
  std::string octets;
};

// Whatever is not exactly a header drops the connection: a guess would let a client choose its key.
TEST(ProxyProtocol, RefusesWhatIsNotExactlyAHeader) {
  const bad_row rows[] = {
      {"HTTP", "GET"},
      {"lower case", "proxy"},
      {"leading zero in port", "PROXY TCP4 192.0.2.1 198.51.100.1 056324 443\r\n"},
      {"two spaces", "PROXY  TCP4 192.0.2.1 198.51.100.1 56324 443\r\n"},
      {"trailing space", "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443 \r\n"},
      {"four words", "PROXY TCP4 192.0.2.1 198.51.100.1 56324\r\n"},
      {"wrong family", "PROXY TCP4 2001:db8::1 2001:db8::2 56324 443\r\n"},
      {"wrong family 6", "PROXY TCP6 192.0.2.1 198.51.100.1 56324 443\r\n"},
      {"zone", "PROXY TCP6 fe80::1%eth0 fe80::2 1 2\r\n"},
      {"leading zero in address", "PROXY TCP4 192.0.2.01 198.51.100.1 56324 443\r\n"},
      {"NUL in address", std::string("PROXY TCP4 192.0.2.1\0 198.51.100.1 1 2\r\n", 41)},
      {"port 65536", "PROXY TCP4 192.0.2.1 198.51.100.1 65536 443\r\n"},
      {"signed port", "PROXY TCP4 192.0.2.1 198.51.100.1 +1 443\r\n"},
      {"unknown protocol", "PROXY UDP4 192.0.2.1 198.51.100.1 56324 443\r\n"},
      {"UNKNOWN run on", "PROXY UNKNOWNX\r\n"},
      {"LF alone", "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\n"},
      {"CR alone", "PROXY TCP4 192.0.2.1 198.51.100.1 56324 443\rG"},
      {"no CRLF in 107 octets", "PROXY UNKNOWN " + std::string(93, 'x')},
      {"108 octets", "PROXY UNKNOWN " + std::string(92, 'x') + "\r\n"},
      {"v2 signature", unhex("0d0a0d0a01")},
      {"v2 version", v2 + unhex("11")},
      {"v2 command", v2 + unhex("22")},
      {"v2 family", v2 + unhex("21410000")},
      {"v2 transport", v2 + unhex("21130000")},
      {"v2 datagrams", v2 + unhex("2112000c") + v4_pair},
      {"v2 short addresses", v2 + unhex("2111000b") + v4_pair.substr(1)},
      {"v2 over the limit", v2 + unhex("20000ff1")},
      {"v2 cut TLV", v2 + unhex("2111000e") + v4_pair + unhex("0400")},
      {"v2 TLV past the end", v2 + unhex("21110010") + v4_pair + unhex("04000200")},
      {"v2 short checksum", v2 + unhex("21110010") + v4_pair + unhex("03000100")},
      {"v2 wrong checksum", v2 + unhex("21110013") + v4_pair + unhex("03000400000000")},
  };
  for (const bad_row& row : rows) {
    const parsed p = parse(row.octets);
    EXPECT_EQ(p.status, parse_status::bad) << row.name;
    EXPECT_NE(p.reason, std::string()) << row.name;
    EXPECT_EQ(parse(row.octets + "more").status, parse_status::bad) << row.name;
  }
}

// The longest header that the specification allows must pass.
TEST(ProxyProtocol, TakesAVersionOneHeaderOf107Octets) {
  const std::string longest = "PROXY UNKNOWN " + std::string(91, 'x') + "\r\n";
  ASSERT_EQ(longest.size(), v1_size_max);
  EXPECT_EQ(parse(longest).consumed, v1_size_max);
}

// A checksum that is there must be verified. RFC 3720 B.4 gives that of 32 zero octets.
TEST(ProxyProtocol, VerifiesTheChecksum) {
  EXPECT_EQ(crc32c_around_zeros(std::string(10, '\0'), std::string(18, '\0')), 0x8a9136aaU);
  const std::string before = v2 + unhex("21110019") + v4_pair + unhex("030004");
  const std::string after = unhex("040003") + "xyz";
  const std::uint32_t crc = crc32c_around_zeros(before, after);
  std::string sum;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) sum += static_cast<char>(crc >> shift & 0xffU);
  EXPECT_EQ(parse(before + sum + after).status, parse_status::complete);
  const std::string changed = unhex("040003") + "xyZ";
  EXPECT_EQ(parse(before + sum + changed).status, parse_status::bad);
  const std::string twice = v2 + unhex("2111001a") + v4_pair +
                            unhex(
                                "03000400000000"
                                "03000400000000");
  EXPECT_EQ(parse(twice).status, parse_status::bad);
}

}  // namespace
}  // namespace penstock::net::proxy_protocol
