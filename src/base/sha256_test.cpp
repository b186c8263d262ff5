#include "base/sha256.hpp"

#include <gtest/gtest.h>

#include "base/ascii.hpp"

namespace penstock {
namespace {

std::string hex_of(std::string_view text) {
  std::string out;
  append_hex(out, sha256(text));
  return out;
}

// The known answers of FIPS 180-4: stored keys must be comparable with `sha256sum`.
TEST(sha256, gives_the_known_answers) {
  EXPECT_EQ(hex_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_of(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

// One digest must not leak into the next one.
TEST(sha256, does_not_depend_on_the_call_before) {
  const sha256_digest first = sha256("abc");
  (void)sha256("something else");
  EXPECT_TRUE(equal_constant_time(first, sha256("abc")));
  EXPECT_FALSE(equal_constant_time(first, sha256("abd")));
}

// Configuration files carry digests as text.
TEST(sha256, reads_what_it_writes_and_nothing_else) {
  EXPECT_EQ(parse_sha256(hex_of("abc")), sha256("abc"));
  EXPECT_FALSE(parse_sha256(""));
  EXPECT_FALSE(parse_sha256(std::string(63, 'a')));
  EXPECT_FALSE(parse_sha256(std::string(63, 'a') + "g"));
}

// The helpers stand under every comparison of header names.
TEST(ascii, compares_and_trims_without_a_locale) {
  EXPECT_TRUE(ascii::iequals("X-Api-Key", "x-aPI-kEY"));
  EXPECT_FALSE(ascii::iequals("a", "ab"));
  EXPECT_FALSE(ascii::iequals("@", "`"));
  EXPECT_EQ(ascii::trim(" \t a b\t "), "a b");
  std::string_view rest = "a,,b";
  EXPECT_EQ(ascii::take_until(rest, ','), "a");
  EXPECT_EQ(ascii::take_until(rest, ','), "");
  EXPECT_EQ(ascii::take_until(rest, ','), "b");
  EXPECT_TRUE(rest.empty());
}

}  // namespace
}  // namespace penstock
