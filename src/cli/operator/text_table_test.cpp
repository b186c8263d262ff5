#include "cli/operator/text_table.hpp"

#include <gtest/gtest.h>

#include "cli/operator/amounts.hpp"
#include "cli/operator/answers.hpp"

namespace penstock::cli {
namespace {

using enum text_table::side;

// Columns stand below each other, whatever is in them.
TEST(TextTable, AlignsAndEscapes) {
  text_table t({{"KEY"}, {"N", right}, {"TEXT"}});
  EXPECT_TRUE(t.empty());
  t.add({"ä\x1b", "5", "x"});
  t.add({"b", "12345"});
  const std::vector<std::string> want = {"KEY        N  TEXT", "ä\\x1b      5  x", "b      12345"};
  EXPECT_EQ(t.lines(), want);
}

// What does not fit is cut in the widest column, so that the others stay readable.
TEST(TextTable, CutsTheWidestColumnToFit) {
  text_table t({{"KEY"}, {"LIMIT"}, {"N", right}});
  t.add({"address:203.0.113.9", "login", "7"});
  const std::vector<std::string> want = {"KEY           LIMIT  N", "address:203…  login  7"};
  EXPECT_EQ(t.lines(22), want);
  for (const auto& line : t.lines(5)) EXPECT_LE(line.size(), 5U + 2U) << line;  // "…" is 3 octets
}

// A wait is never called shorter than it is; two units are enough at a glance.
TEST(Amounts, TimesAreRoundedUp) {
  const struct {
    std::int64_t ms;
    const char* want;
  } rows[] = {
      {0, "0 ms"},          {999, "999 ms"},         {1000, "1 s"},           {1001, "2 s"},
      {59'000, "59 s"},     {60'000, "1min"},        {61'000, "1min 1s"},     {3'599'000, "1h"},
      {3'600'000, "1h"},    {8'040'000, "2h 14min"}, {8'040'001, "2h 15min"}, {86'399'000, "1d"},
      {90'000'000, "1d 1h"}};
  for (const auto& r : rows) EXPECT_EQ(time_text(r.ms), r.want) << r.ms;
  EXPECT_EQ(short_time_text(0), "-");
  EXPECT_EQ(short_time_text(1), "1 us");
  EXPECT_EQ(short_time_text(1'300'000), "1.3 ms");
  EXPECT_EQ(short_time_text(1'300'001), "1.4 ms");
  EXPECT_EQ(short_time_text(2'000'000'000), "2 s");
}

// Rates are for people: one digit behind the point while it says something.
TEST(Amounts, Rates) {
  EXPECT_EQ(rate_text(125, 10'000), "12.5/s");
  EXPECT_EQ(rate_text(20, 2'000), "10/s");
  EXPECT_EQ(rate_text(123'456, 1'000), "123456/s");
  EXPECT_EQ(rate_text(1, 0), "-");
  EXPECT_EQ(rate_text(-1, 1000), "-");
  EXPECT_EQ(instant_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(clock_text(1000), "00:00:01Z");
}

// A daemon of another version may lack a member or have it otherwise: the rest is still shown.
TEST(Answers, MissingMembersReadAsNothing) {
  const object o = read_answer(R"({"t":"x","n":5,"big":18446744073709551615,"b":true,"o":{"n":1},)"
                               R"("a":[{"n":1},7,{"n":2}]})");
  EXPECT_EQ(text_of(o, "t"), "x");
  EXPECT_EQ(text_of(o, "n"), "");
  EXPECT_EQ(number_of(o, "n"), 5);
  EXPECT_EQ(number_of(o, "big"), 0);
  EXPECT_EQ(number_of(o, "t"), 0);
  EXPECT_TRUE(flag_of(o, "b"));
  EXPECT_FALSE(flag_of(o, "none"));
  EXPECT_EQ(number_of(object_of(o, "o"), "n"), 1);
  EXPECT_TRUE(object_of(o, "t").empty());
  EXPECT_EQ(rows_of(o, "a").size(), 2U);
  EXPECT_TRUE(rows_of(o, "o").empty());
}

// Scripts get the daemon's own text, escapes included.
TEST(Answers, MergesAsWritten) {
  EXPECT_EQ(merged({"{\"a\":\"\\u009b\"}\n", " { } ", "{}", R"({"b":[1]})"}),
            "{\"a\":\"\\u009b\",\"b\":[1]}");
}

}  // namespace
}  // namespace penstock::cli
