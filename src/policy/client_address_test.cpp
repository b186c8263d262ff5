#include "policy/client_address.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::policy {
namespace {

struct header {
  std::string name, value;
};

address client_of(std::string_view peer, const std::vector<header>& headers,
                  const std::vector<std::string>& trusted, address_source source) {
  std::vector<field> fields;
  for (const header& h : headers) fields.push_back({h.name, h.value});
  return client_address(address::parse(peer).value(), fields, address_set::parse(trusted).value(),
                        source);
}

struct row {
  const char* name;
  std::string peer;
  std::vector<header> headers;
  std::string trusted;
  address_source source;
  std::string client;
};

// clang-format off
const row rows[] = {
    {"untrusted peer: header ignored", "203.0.113.9", {{"X-Forwarded-For", "1.2.3.4"}}, "10.0.0.0/8", address_source::x_forwarded_for, "203.0.113.9"},
    {"trusted peer, no header", "10.0.0.1", {}, "10.0.0.0/8", address_source::x_forwarded_for, "10.0.0.1"},
    {"one hop", "10.0.0.1", {{"X-Forwarded-For", "203.0.113.9"}}, "10.0.0.0/8", address_source::x_forwarded_for, "203.0.113.9"},
    {"left part is client supplied", "10.0.0.1", {{"X-Forwarded-For", "1.2.3.4, 203.0.113.9"}}, "10.0.0.0/8", address_source::x_forwarded_for, "203.0.113.9"},
    {"skip trusted hop", "10.0.0.1", {{"X-Forwarded-For", "1.2.3.4, 203.0.113.9, 10.0.0.7"}}, "10.0.0.0/8", address_source::x_forwarded_for, "203.0.113.9"},
    {"all trusted: left-most", "10.0.0.1", {{"X-Forwarded-For", "10.0.0.3, 10.0.0.2"}}, "10.0.0.0/8", address_source::x_forwarded_for, "10.0.0.3"},
    {"two field lines are one list", "10.0.0.1", {{"X-Forwarded-For", "203.0.113.9"}, {"X-Forwarded-For", "198.51.100.2, 10.0.0.2"}}, "10.0.0.0/8", address_source::x_forwarded_for, "198.51.100.2"},
    {"unparsable: keep trusted hop", "10.0.0.1", {{"X-Forwarded-For", "garbage"}}, "10.0.0.0/8", address_source::x_forwarded_for, "10.0.0.1"},
    {"stop at 'unknown'; never look past it", "10.0.0.1", {{"X-Forwarded-For", "203.0.113.9, unknown, 10.0.0.2"}}, "10.0.0.0/8", address_source::x_forwarded_for, "10.0.0.2"},
    {"untrusted found before the bad token", "10.0.0.1", {{"X-Forwarded-For", "unknown, 203.0.113.9"}}, "10.0.0.0/8", address_source::x_forwarded_for, "203.0.113.9"},
    {"IPv4 with port", "10.0.0.1", {{"X-Forwarded-For", "203.0.113.9:51000"}}, "10.0.0.0/8", address_source::x_forwarded_for, "203.0.113.9"},
    {"bracketed IPv6 with port", "10.0.0.1", {{"X-Forwarded-For", "[2001:db8::7]:443"}}, "10.0.0.0/8", address_source::x_forwarded_for, "2001:db8::7"},
    {"bare IPv6", "10.0.0.1", {{"X-Forwarded-For", "2001:db8::7"}}, "10.0.0.0/8", address_source::x_forwarded_for, "2001:db8::7"},
    {"bracketed IPv6", "10.0.0.1", {{"X-Forwarded-For", "[2001:db8::7]"}}, "10.0.0.0/8", address_source::x_forwarded_for, "2001:db8::7"},
    {"canonical text", "10.0.0.1", {{"X-Forwarded-For", "2001:DB8:0:0:0:0:0:7"}}, "10.0.0.0/8", address_source::x_forwarded_for, "2001:db8::7"},
    {"mapped peer matches IPv4 list", "::ffff:10.0.0.1", {{"X-Forwarded-For", "203.0.113.9"}}, "10.0.0.0/8", address_source::x_forwarded_for, "203.0.113.9"},
    {"mapped client becomes IPv4", "10.0.0.1", {{"X-Forwarded-For", "::ffff:203.0.113.9"}}, "10.0.0.0/8", address_source::x_forwarded_for, "203.0.113.9"},
    {"same address, hex spelling", "10.0.0.1", {{"X-Forwarded-For", "::ffff:cb00:7109"}}, "10.0.0.0/8", address_source::x_forwarded_for, "203.0.113.9"},
    {"mapped CIDR in the trusted list", "10.0.0.1", {{"X-Forwarded-For", "203.0.113.9"}}, "::ffff:10.0.0.0/104", address_source::x_forwarded_for, "203.0.113.9"},
    {"zone id on the peer", "fe80::1%eth0", {{"X-Forwarded-For", "203.0.113.9"}}, "fe80::/10", address_source::x_forwarded_for, "203.0.113.9"},
    {"zone id dropped", "10.0.0.1", {{"X-Forwarded-For", "fe80::9%25eth1"}}, "10.0.0.0/8", address_source::x_forwarded_for, "fe80::9"},
    {"leading zero octet: not an address", "10.0.0.1", {{"X-Forwarded-For", "203.0.113.09"}}, "10.0.0.0/8", address_source::x_forwarded_for, "10.0.0.1"},
    {"empty elements skipped", "10.0.0.1", {{"X-Forwarded-For", "203.0.113.9,,10.0.0.2, "}}, "10.0.0.0/8", address_source::x_forwarded_for, "203.0.113.9"},
    {"empty header", "10.0.0.1", {{"X-Forwarded-For", ""}}, "10.0.0.0/8", address_source::x_forwarded_for, "10.0.0.1"},
    {"bad port: not an address", "10.0.0.1", {{"X-Forwarded-For", "203.0.113.9:99999"}}, "10.0.0.0/8", address_source::x_forwarded_for, "10.0.0.1"},
    {"IPv6 trusted range", "2001:db8:1::1", {{"X-Forwarded-For", "2001:db8:2::5, 2001:db8:1::2"}}, "2001:db8:1::/48", address_source::x_forwarded_for, "2001:db8:2::5"},
    {"simple", "10.0.0.1", {{"Forwarded", "for=192.0.2.60;proto=http;by=203.0.113.43"}}, "10.0.0.0/8", address_source::forwarded, "192.0.2.60"},
    {"quoted IPv6 and port, name case", "10.0.0.1", {{"Forwarded", "For=\"[2001:db8:cafe::17]:4711\""}}, "10.0.0.0/8", address_source::forwarded, "2001:db8:cafe::17"},
    {"walk from the right", "10.0.0.1", {{"Forwarded", "for=192.0.2.43, for=\"[2001:db8:cafe::17]\", for=10.0.0.5"}}, "10.0.0.0/8", address_source::forwarded, "2001:db8:cafe::17"},
    {"obfuscated: stop", "10.0.0.1", {{"Forwarded", "for=192.0.2.43"}, {"Forwarded", "for=_hidden"}}, "10.0.0.0/8", address_source::forwarded, "10.0.0.1"},
    {"unknown: stop", "10.0.0.1", {{"Forwarded", "for=unknown"}}, "10.0.0.0/8", address_source::forwarded, "10.0.0.1"},
    {"obfuscated port (strict: not an address)", "10.0.0.1", {{"Forwarded", "for=\"192.0.2.43:_port\""}}, "10.0.0.0/8", address_source::forwarded, "10.0.0.1"},
    {"right-most element without for=: stop", "10.0.0.1", {{"Forwarded", "for=\"192.0.2.43:47011\";proto=https, by=10.0.0.9"}}, "10.0.0.0/8", address_source::forwarded, "10.0.0.1"},
    {"unterminated quote: ignore field", "10.0.0.1", {{"Forwarded", "for=\"1.2.3.4, for=5.6.7.8"}}, "10.0.0.0/8", address_source::forwarded, "10.0.0.1"},
    {"comma inside quotes is data", "10.0.0.1", {{"Forwarded", "for=\"9.9.9.9\\, for=1.1.1.1\""}}, "10.0.0.0/8", address_source::forwarded, "10.0.0.1"},
    {"unquoted IPv6 is malformed", "10.0.0.1", {{"Forwarded", "for=2001:db8::1"}}, "10.0.0.0/8", address_source::forwarded, "10.0.0.1"},
    {"single value", "10.0.0.1", {{"X-Real-IP", "203.0.113.9"}}, "10.0.0.0/8", address_source::x_real_ip, "203.0.113.9"},
    {"two values: ignore", "10.0.0.1", {{"X-Real-IP", "203.0.113.9"}, {"X-Real-IP", "1.2.3.4"}}, "10.0.0.0/8", address_source::x_real_ip, "10.0.0.1"},
    {"untrusted peer", "198.51.100.7", {{"X-Real-IP", "203.0.113.9"}}, "10.0.0.0/8", address_source::x_real_ip, "198.51.100.7"},
    // More of what clients and proxies write.
    {"port 0 is no port", "10.0.0.1", {{"X-Forwarded-For", "203.0.113.9:0"}}, "10.0.0.0/8", address_source::x_forwarded_for, "10.0.0.1"},
    {"port without digits", "10.0.0.1", {{"X-Forwarded-For", "203.0.113.9:"}}, "10.0.0.0/8", address_source::x_forwarded_for, "10.0.0.1"},
    {"IPv4 in brackets", "10.0.0.1", {{"X-Forwarded-For", "[203.0.113.9]"}}, "10.0.0.0/8", address_source::x_forwarded_for, "10.0.0.1"},
    {"open bracket", "10.0.0.1", {{"X-Forwarded-For", "[2001:db8::7"}}, "10.0.0.0/8", address_source::x_forwarded_for, "10.0.0.1"},
    {"shorthand is no address", "10.0.0.1", {{"X-Forwarded-For", "1.2.3"}}, "10.0.0.0/8", address_source::x_forwarded_for, "10.0.0.1"},
    {"hexadecimal is no address", "10.0.0.1", {{"X-Forwarded-For", "0x7f.1"}}, "10.0.0.0/8", address_source::x_forwarded_for, "10.0.0.1"},
    {"quoted item", "10.0.0.1", {{"X-Forwarded-For", "\"203.0.113.9\""}}, "10.0.0.0/8", address_source::x_forwarded_for, "10.0.0.1"},
    {"other family is ignored", "10.0.0.1", {{"Forwarded", "for=1.2.3.4"}}, "10.0.0.0/8", address_source::x_forwarded_for, "10.0.0.1"},
    {"other names are ignored", "10.0.0.1", {{"True-Client-IP", "1.2.3.4"}, {"X_Forwarded_For", "1.2.3.4"}}, "10.0.0.0/8", address_source::x_forwarded_for, "10.0.0.1"},
    {"peer alone", "10.0.0.1", {{"X-Forwarded-For", "203.0.113.9"}}, "10.0.0.0/8", address_source::peer, "10.0.0.1"},
    {"escaped address", "10.0.0.1", {{"Forwarded", "for=\"\\2\\0\\3.0.113.9\""}}, "10.0.0.0/8", address_source::forwarded, "203.0.113.9"},
    {"empty pairs and elements", "10.0.0.1", {{"Forwarded", ",;for=203.0.113.9; ;proto=http,,"}}, "10.0.0.0/8", address_source::forwarded, "203.0.113.9"},
    {"for twice in one element", "10.0.0.1", {{"Forwarded", "for=203.0.113.9;for=1.2.3.4"}}, "10.0.0.0/8", address_source::forwarded, "10.0.0.1"},
    {"space around =", "10.0.0.1", {{"Forwarded", "for = 203.0.113.9"}}, "10.0.0.0/8", address_source::forwarded, "10.0.0.1"},
    {"broken element left of a good one", "10.0.0.1", {{"Forwarded", "for=1.2.3.4 x, for=203.0.113.9"}}, "10.0.0.0/8", address_source::forwarded, "203.0.113.9"},
    {"quote left open in an earlier field", "10.0.0.1", {{"Forwarded", "for=\"1.2.3.4"}, {"Forwarded", "for=203.0.113.9"}}, "10.0.0.0/8", address_source::forwarded, "203.0.113.9"},
    {"bare IPv6 in quotes", "10.0.0.1", {{"Forwarded", "for=\"2001:db8::7\""}}, "10.0.0.0/8", address_source::forwarded, "10.0.0.1"},
    {"bare dotted IPv6 in quotes", "10.0.0.1", {{"Forwarded", "for=\"::ffff:1.2.3.4\""}}, "10.0.0.0/8", address_source::forwarded, "10.0.0.1"},
    {"X-Real-IP with two addresses", "10.0.0.1", {{"X-Real-IP", "203.0.113.9, 1.2.3.4"}}, "10.0.0.0/8", address_source::x_real_ip, "10.0.0.1"},
};
// clang-format on

// A client that can choose its address has no limit at all.
TEST(client_address, follows_the_table) {
  for (const row& r : rows) {
    EXPECT_EQ(client_of(r.peer, r.headers, {r.trusted}, r.source).to_string(), r.client) << r.name;
  }
}

// Work and belief are bounded: a chain of trusted hops longer than any real one ends the walk.
TEST(client_address, looks_at_no_more_than_32_items) {
  for (const auto& [name, prefix, source] :
       {std::tuple{"X-Forwarded-For", "", address_source::x_forwarded_for},
        std::tuple{"Forwarded", "for=", address_source::forwarded}}) {
    std::string chain = std::string(prefix) + "203.0.113.9";
    for (int i = 1; i <= 31; ++i)
      chain += "," + std::string(prefix) + "10.0.1." + std::to_string(i);
    EXPECT_EQ(client_of("10.0.0.1", {{name, chain}}, {"10.0.0.0/8"}, source).to_string(),
              "203.0.113.9");
    chain += "," + std::string(prefix) + "10.0.1.32";
    EXPECT_EQ(client_of("10.0.0.1", {{name, chain}}, {"10.0.0.0/8"}, source).to_string(),
              "10.0.1.1");
  }
}

// Rotating forged prefixes buys nothing: one client stays one client.
TEST(client_address, is_the_same_whatever_stands_left_of_it) {
  for (int i = 0; i < 10'000; ++i) {
    const std::string forged = std::to_string(i % 256) + ".1.2." + std::to_string(i / 256);
    EXPECT_EQ(client_of("10.0.0.3", {{"X-Forwarded-For", forged + ", 203.0.113.9, 10.0.0.2"}},
                        {"10.0.0.0/8"}, address_source::x_forwarded_for)
                  .to_string(),
              "203.0.113.9");
  }
}

}  // namespace
}  // namespace penstock::policy
