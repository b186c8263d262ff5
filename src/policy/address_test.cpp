#include "policy/address.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "policy/address_set.hpp"

namespace penstock::policy {
namespace {

std::string text_of(std::string_view text) {
  const auto a = address::parse(text);
  return a ? a->to_string() : "";
}

struct text_row {
  const char* given;
  const char* want;  // "": not an address
};

const text_row text_rows[] = {
    {"203.0.113.9", "203.0.113.9"},
    {"0.0.0.0", "0.0.0.0"},
    {"255.255.255.255", "255.255.255.255"},
    {"256.0.0.1", ""},
    {"203.0.113.09", ""},
    {"010.0.0.1", ""},
    {"1.2.3", ""},
    {"1.2.3.4.5", ""},
    {"1.2.3.4 ", ""},
    {"1..2.3", ""},
    {"0x7f.0.0.1", ""},
    {"", ""},
    // RFC 5952 §4: lower case, the longest run of zeros (the first of equals), never a single
    // group.
    {"2001:DB8:0:0:0:0:0:7", "2001:db8::7"},
    {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
    {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
    {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
    {"::", "::"},
    {"::1", "::1"},
    {"1::", "1::"},
    {"0:0:0:0:0:0:0:0", "::"},
    {"1:2:3:4:5:6:7:8", "1:2:3:4:5:6:7:8"},
    {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
    {"::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"},
    {"1:2:3:4:5:6:7:8:9", ""},
    {"1:2:3:4:5:6:7", ""},
    {"1::2::3", ""},
    {"1:2:3:4::5:6:7:8", ""},
    {":1::", ""},
    {":::", ""},
    {"1:", ""},
    {"12345::", ""},
    {"g::", ""},
    {"[::1]", ""},
    {"::1%eth0", "::1"},
    {"fe80::9%25eth1", "fe80::9"},
    {"fe80::1%", ""},
    {"fe80::1%a b", ""},
    {"1.2.3.4%eth0", ""},
    // Embedded IPv4: only the mapped form is IPv4, whatever its spelling.
    {"::ffff:203.0.113.9", "203.0.113.9"},
    {"::ffff:cb00:7109", "203.0.113.9"},
    {"0:0:0:0:0:FFFF:203.0.113.9", "203.0.113.9"},
    {"::203.0.113.9", "::cb00:7109"},
    {"64:ff9b::203.0.113.9", "64:ff9b::cb00:7109"},
    {"2001:db8::1.2.3.4", "2001:db8::102:304"},
    {"::ffff:203.0.113.09", ""},
    {"1:2:3:4:5:6:7:1.2.3.4", ""},
    {"::1.2.3.4:5", ""},
};

// One address with two spellings would be two clients.
TEST(address, reads_strictly_and_writes_the_canonical_text) {
  for (const text_row& r : text_rows) EXPECT_EQ(text_of(r.given), r.want) << r.given;
  EXPECT_EQ(text_of(std::string(300, '1')), "");
  EXPECT_EQ(text_of(std::string_view("1.2.3.4\0", 8)), "");
}

// What the system resolver's parser says is the judge of every other spelling.
TEST(address, agrees_with_inet_pton) {
  const auto piece = rc::gen::element<std::string>("0", "1", "ffff", "db8", "A", "00", "255", "256",
                                                   "1.2.3.4", ":", "::", ".", "12345", "%", "");
  EXPECT_TRUE(rc::check([&] {
    std::string text;
    for (const auto& p : *rc::gen::container<std::vector<std::string>>(piece)) text += p;
    RC_PRE(text.find('%') == std::string::npos);
    in_addr v4{};
    in6_addr v6{};
    const bool valid =
        inet_pton(AF_INET, text.c_str(), &v4) == 1 || inet_pton(AF_INET6, text.c_str(), &v6) == 1;
    RC_ASSERT(address::parse(text).has_value() == valid);
  }));
}

// Writing and reading again is the identity, and equal addresses have equal texts.
TEST(address, reads_what_it_writes) {
  EXPECT_TRUE(rc::check([](std::array<std::uint8_t, 16> octets, std::uint16_t zero_groups) {
    for (std::size_t i = 0; i < 8; ++i) {
      if ((zero_groups >> i & 1) != 0) octets[2 * i] = octets[2 * i + 1] = 0;
    }
    const address a = address::v6(octets);
    RC_ASSERT(address::parse(a.to_string()) == a);
    if (a.is_v4()) return;
    char text[INET6_ADDRSTRLEN];
    inet_ntop(AF_INET6, octets.data(), text, sizeof text);
    const std::string theirs = text;
    // glibc writes ::a.b.c.d in dots.
    if (theirs.find('.') == std::string::npos) RC_ASSERT(a.to_string() == theirs);
  }));
}

struct mask_row {
  const char* given;
  int prefix;
  const char* want;
};

// A household owns a /64 or more; its addresses must be one client.
TEST(address, is_cut_to_its_prefix) {
  const mask_row rows[] = {
      {"203.0.113.9", 32, "203.0.113.9"},
      {"203.0.113.9", 24, "203.0.113.0"},
      {"203.0.113.9", 29, "203.0.113.8"},
      {"203.0.113.9", 0, "0.0.0.0"},
      {"2001:db8:1:2:3:4:5:6", 64, "2001:db8:1:2::"},
      {"2001:db8:1:2ff::1", 56, "2001:db8:1:200::"},
      {"2001:db8:1:2:3:4:5:6", 128, "2001:db8:1:2:3:4:5:6"},
      {"2001:db8::1.2.3.4", 64, "2001:db8::"},
  };
  for (const mask_row& r : rows) {
    EXPECT_EQ(address::parse(r.given)->masked(r.prefix).to_string(), r.want) << r.given;
  }
}

// Trusting one address too many gives every client behind it a free choice of identity.
TEST(address_set, contains_its_networks_and_nothing_else) {
  const std::vector<std::string> networks{
      "10.0.0.0/8",  "10.1.0.0/16",    "192.0.2.7", "fd00::/8", "::ffff:198.51.100.0/120",
      "2001:db8::1", "255.255.255.255"};
  const address_set set = address_set::parse(networks).value();
  for (const char* in :
       {"10.0.0.0", "10.1.2.3", "10.255.255.255", "192.0.2.7", "fd00::", "fdff:ffff::1",
        "198.51.100.255", "::ffff:10.0.0.1", "2001:db8::1", "255.255.255.255"}) {
    EXPECT_TRUE(set.contains(*address::parse(in))) << in;
  }
  for (const char* out : {"9.255.255.255", "11.0.0.0", "192.0.2.6", "192.0.2.8", "fc00::", "fe00::",
                          "198.51.101.0", "2001:db8::2", "::", "0.0.0.0", "::a00:1"}) {
    EXPECT_FALSE(set.contains(*address::parse(out))) << out;
  }
  EXPECT_FALSE(address_set{}.contains(*address::parse("10.0.0.1")));
}

// A whole family is one prefix of length 0, and never the other family.
TEST(address_set, keeps_the_families_apart) {
  const address_set v4 = address_set::parse(std::vector<std::string>{"0.0.0.0/0"}).value();
  EXPECT_TRUE(v4.contains(*address::parse("203.0.113.9")));
  EXPECT_FALSE(v4.contains(*address::parse("2001:db8::1")));
  const address_set v6 = address_set::parse(std::vector<std::string>{"::/0"}).value();
  EXPECT_FALSE(v6.contains(*address::parse("203.0.113.9")));
  EXPECT_TRUE(v6.contains(*address::parse("2001:db8::1")));
}

// A typing error in the trusted list must not become a wider network.
TEST(address_set, refuses_what_is_no_network) {
  for (const char* bad : {"", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/08", "10.0.0/8",
                          "fd00::/129", "::ffff:10.0.0.0/95", "10.0.0.0/8 ", "localhost", "/8"}) {
    EXPECT_FALSE(address_set::parse(std::vector<std::string>{bad})) << bad;
  }
}

}  // namespace
}  // namespace penstock::policy
