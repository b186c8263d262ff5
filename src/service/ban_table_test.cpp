#include "service/ban_table.hpp"

#include <chrono>

#include <gtest/gtest.h>

namespace penstock::service {
namespace {

using std::chrono::seconds;

constexpr instant noon{seconds{1'700'000'000}};

// A ban holds for its key under its limit, until its end and not one microsecond longer.
TEST(BanTable, HoldsForOneKeyUnderOneLimitUntilItsEnd) {
  ban_table bans;
  EXPECT_EQ(bans.remaining("login", "a", noon), duration{0});
  bans.ban("login", "a", noon + seconds{10}, noon);
  EXPECT_EQ(bans.remaining("login", "a", noon + seconds{4}), seconds{6});
  EXPECT_EQ(bans.remaining("login", "a", noon + seconds{10} - duration{1}), duration{1});
  EXPECT_EQ(bans.remaining("login", "a", noon + seconds{10}), duration{0});
  EXPECT_EQ(bans.remaining("login", "b", noon), duration{0});
  EXPECT_EQ(bans.remaining("other", "a", noon), duration{0});
}

// A second, shorter ban must not free anybody early; lifting does.
TEST(BanTable, ALaterBanNeverShortensAndLiftingEnds) {
  ban_table bans;
  bans.ban("l", "a", noon + seconds{100}, noon);
  bans.ban("l", "a", noon + seconds{10}, noon);
  EXPECT_EQ(bans.remaining("l", "a", noon), seconds{100});
  EXPECT_TRUE(bans.lift("l", "a"));
  EXPECT_FALSE(bans.lift("l", "a"));
  EXPECT_EQ(bans.remaining("l", "a", noon), duration{0});
  EXPECT_TRUE(bans.empty());
}

// A flood of bans stays within bounds and drops the ban that would have ended first.
TEST(BanTable, AFullTableDropsTheBanThatEndsFirst) {
  ban_table bans(3);
  bans.ban("l", "long", noon + seconds{300}, noon);
  bans.ban("l", "short", noon + seconds{10}, noon);
  bans.ban("l", "middle", noon + seconds{200}, noon);
  bans.ban("l", "new", noon + seconds{100}, noon);
  EXPECT_EQ(bans.entries(noon).size(), 3U);
  EXPECT_EQ(bans.remaining("l", "short", noon), duration{0});
  EXPECT_EQ(bans.remaining("l", "long", noon), seconds{300});
  EXPECT_EQ(bans.remaining("l", "new", noon), seconds{100});
}

}  // namespace
}  // namespace penstock::service
