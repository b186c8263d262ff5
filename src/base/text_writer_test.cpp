#include "base/text_writer.hpp"

#include <cstdint>
#include <limits>
#include <string>

#include <gtest/gtest.h>

namespace penstock {
namespace {

std::string alphabet(std::size_t n) {
  std::string s;
  for (std::size_t i = 0; i < n; ++i) s.push_back(static_cast<char>('!' + i % 90));
  return s;
}

// Octets and numbers of any type, also where the block is full.
TEST(Text_writer, Octets_and_numbers_arrive_whole) {
  std::string out;
  std::string expected;
  {
    text_writer to(out);
    for (int i = 0; i < 200; ++i) {
      to.octet('|').number(std::numeric_limits<std::int64_t>::min()).octet('|').number(i);
      to.number(std::numeric_limits<std::uint64_t>::max());
      expected += "|-9223372036854775808|" + std::to_string(i) + "18446744073709551615";
    }
  }
  EXPECT_EQ(out, expected);
}

// Short pieces are copied in overlapping words: each length has its own way.
TEST(Text_writer, Every_length_arrives_whole) {
  for (std::size_t n = 0; n <= 2'000; n += n < 70 ? 1 : 97) {
    std::string out = "before|";
    { text_writer(out).text(alphabet(n)).text("|").text(alphabet(n)); }
    EXPECT_EQ(out, "before|" + alphabet(n) + "|" + alphabet(n)) << n;
  }
}

// A policy may have 64 windows with long names: the block fills at any byte.
TEST(Text_writer, Pieces_and_integers_go_on_across_full_blocks) {
  for (std::size_t first = 740; first < 780; ++first) {
    std::string out;
    {
      text_writer to(out);
      to.text(alphabet(first)).integer(123'456'789'012'345).text("; ").integer(7);
    }
    EXPECT_EQ(out, alphabet(first) + "123456789012345; 7") << first;
  }
}

// Structured fields have integers of at most 15 digits and nothing here is negative.
TEST(Text_writer, Integers_stay_within_the_field) {
  struct row {
    std::int64_t value;
    const char* text;
  };
  for (const row& r :
       {row{-1, "0"}, row{0, "0"}, row{9, "9"}, row{10, "10"},
        row{999'999'999'999'999, "999999999999999"}, row{1'000'000'000'000'000, "999999999999999"},
        row{INT64_MAX, "999999999999999"}, row{INT64_MIN, "0"}}) {
    std::string out;
    { text_writer(out).integer(r.value); }
    EXPECT_EQ(out, r.text);
  }
}

}  // namespace
}  // namespace penstock
