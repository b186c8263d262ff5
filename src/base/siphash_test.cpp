#include "base/siphash.hpp"

#include <array>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

namespace penstock {
namespace {

const hash128 counting_key{0x0706050403020100U, 0x0f0e0d0c0b0a0908U};

std::string counting_message(std::size_t n) {
  std::string m;
  for (std::size_t i = 0; i < n; ++i) m.push_back(static_cast<char>(i));
  return m;
}

std::string hex(const hash128& h) {
  std::string out;
  for (const std::uint64_t word : {h.lo, h.hi}) {
    for (int i = 0; i < 8; ++i) {
      std::array<char, 3> byte{};
      std::snprintf(byte.data(), byte.size(), "%02x",
                    static_cast<unsigned>((word >> (8 * i)) & 0xffU));
      out += byte.data();
    }
  }
  return out;
}

// The reference's own vectors (2-4), and what OpenSSL 3.0 answers for 1-3
// (openssl mac -macopt c-rounds:1 -macopt d-rounds:3 -macopt size:16 … SIPHASH).
TEST(Siphash, Equals_the_published_vectors) {
  EXPECT_EQ(hex(siphash128<2, 4>(counting_key, counting_message(0))),
            "a3817f04ba25a8e66df67214c7550293");
  EXPECT_EQ(hex(siphash128<2, 4>(counting_key, counting_message(1))),
            "da87c1d86b99af44347659119b22fc45");
  EXPECT_EQ(hex(siphash128<2, 4>(counting_key, counting_message(2))),
            "8177228da4a45dc7fca38bdef60affe4");
  EXPECT_EQ(hex(siphash128(counting_key, counting_message(0))), "e77ebcb22788a5befd62db6add303001");
  EXPECT_EQ(hex(siphash128(counting_key, counting_message(1))), "fc6f370460d3eda85e0573cc2b2ff063");
  EXPECT_EQ(hex(siphash128(counting_key, counting_message(15))),
            "c17e5505b2bd526c2921cdec1e7e0109");
  EXPECT_EQ(hex(siphash128(counting_key, counting_message(30))),
            "5ca84c34139c6580a88af24990720706");
}

// Tails are loaded in two ways (short and long messages); both must see the same bytes.
TEST(Siphash, Every_length_and_every_byte_counts) {
  for (std::size_t n = 1; n < 40; ++n) {
    const std::string m = counting_message(n);
    const hash128 h = siphash128(counting_key, m);
    EXPECT_NE(h, siphash128(counting_key, m.substr(0, n - 1))) << n;
    for (std::size_t i = 0; i < n; ++i) {
      std::string other = m;
      other[i] = static_cast<char>(other[i] ^ 0x40);
      EXPECT_NE(h, siphash128(counting_key, other)) << n << " byte " << i;
    }
  }
}

// Two processes, and two stores of one process, must not share their secrets.
TEST(Siphash, Secrets_differ) {
  EXPECT_NE(random_secret(), random_secret());
}

}  // namespace
}  // namespace penstock
