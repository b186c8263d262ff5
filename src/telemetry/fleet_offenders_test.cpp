#include "telemetry/fleet_offenders.hpp"

#include <gtest/gtest.h>

namespace penstock::telemetry {
namespace {

process_offenders sample() {
  process_offenders of;
  of[0][0] = {
      {{"login", "address:203.0.113.9", 7, 9}, {"", std::string("a b\n\0\xff", 6), 1, 1}}, 10, 2};
  of[1][2] = {{{"all", "", 3, 3}}, 3, 0};
  return of;
}

// What one process writes is what the other one reads, whatever octets a key has.
TEST(FleetOffenders, ReadBackAsWritten) {
  const auto read = read_offenders(write_offenders(sample()));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, sample());
}

// The text stays within what a store is asked to keep, and the floor tells what was left out.
TEST(FleetOffenders, WhatDoesNotFitRaisesTheFloor) {
  process_offenders of;
  for (auto& ranking : of) {
    for (auto& s : ranking) {
      for (std::uint64_t i = 0; i < 3000; ++i) {
        s.keys.push_back({std::string(256, 'l'), std::to_string(i) + std::string(156, 'k'),
                          1'000'000 + i, 1'000'000 + i});
      }
    }
  }
  const std::string text = write_offenders(of);
  EXPECT_LE(text.size(), offenders_text_max);
  const auto read = read_offenders(text);
  ASSERT_TRUE(read);
  const auto& s = (*read)[1][1];
  ASSERT_FALSE(s.keys.empty());
  EXPECT_EQ(s.keys.front().at_most, 1'002'999U);
  EXPECT_EQ(s.floor, s.keys.back().at_most - 1);
}

// A text that broke off anywhere is no text.
TEST(FleetOffenders, EveryPrefixIsRefused) {
  const std::string whole = write_offenders(sample());
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_FALSE(read_offenders(std::string_view(whole).substr(0, n))) << n;
  }
  EXPECT_FALSE(read_offenders(whole + "\n"));
}

// Whoever may write to the store may write anything: it costs no memory and no wrong number.
TEST(FleetOffenders, HostileTextsAreRefused) {
  const std::string head = "penstock-offenders 1\n";
  const std::string rest = "0 0 0\n0 0 0\n0 0 0\n0 0 0\n0 0 0\n";
  ASSERT_TRUE(read_offenders(head + "1 0 1\n1 1 1 1 ab\n" + rest));
  const struct {
    const char* what;
    std::string first;
  } rows[] = {
      {"more keys than there may be", "1 0 33\n"},
      {"a count of keys beyond 64 bits", "1 0 99999999999999999999\n"},
      {"a total beyond 2^53", "9007199254740993 0 0\n"},
      {"negative", "-1 0 0\n"},
      {"a sign", "+1 0 0\n"},
      {"a key longer than its text", "1 0 1\n1 1 1 160 ab\n"},
      {"a key longer than keys are", "1 0 1\n1 1 1 161 a" + std::string(161, 'k') + "\n"},
      {"a limit longer than names are", "1 0 1\n1 1 257 1 " + std::string(258, 'l') + "\n"},
      {"at least more than at most", "1 0 1\n2 1 1 1 ab\n"},
      {"no end of line", "1 0 1\n1 1 1 1 ab"},
      {"two spaces", "1  0 0\n"},
  };
  for (const auto& row : rows) EXPECT_FALSE(read_offenders(head + row.first + rest)) << row.what;
  EXPECT_FALSE(read_offenders("penstock-offenders 2\n0 0 0\n" + rest));
  EXPECT_FALSE(read_offenders(std::string(offenders_text_max + 1, ' ')));
}

// The fleet's count of a key is the sum, and a key that one side does not list may have that
// side's floor there.
TEST(FleetOffenders, MergedCountsKeepTheirBounds) {
  const named_summary a{{{"l", "both", 5, 6}, {"l", "a", 4, 4}}, 20, 3};
  const named_summary b{{{"l", "both", 10, 10}, {"m", "both", 1, 1}}, 12, 1};
  const auto all = merged({a, b, {}}, 10);
  EXPECT_EQ(all.total, 32U);
  EXPECT_EQ(all.floor, 4U);
  const std::vector<named_count> expected = {
      {"l", "both", 15, 16}, {"l", "a", 4, 5}, {"m", "both", 1, 4}};
  EXPECT_EQ(all.keys, expected);
  EXPECT_EQ(merged({a, b}, 1).keys.size(), 1U);
  EXPECT_EQ(merged({}, 1), named_summary{});
}

// A key that stands twice in one summary is one key.
TEST(FleetOffenders, EqualNamesInOneSummaryAreOneKey) {
  const auto all = merged({{{{"l", "k", 1, 2}, {"l", "k", 3, 4}}, 6, 0}, {}}, 10);
  const std::vector<named_count> expected = {{"l", "k", 4, 6}};
  EXPECT_EQ(all.keys, expected);
}

}  // namespace
}  // namespace penstock::telemetry
