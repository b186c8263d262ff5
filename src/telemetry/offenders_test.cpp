#include "telemetry/offenders.hpp"

#include <gtest/gtest.h>

namespace penstock::telemetry {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

struct fixture : ::testing::Test {
  const hash128 secret{3, 4};
  key_stream one{secret};
  key_stream two{secret};
  std::vector<key_stream*> streams{&one, &two};
  offenders report;
  // Realistic, and in the middle of every stretch.
  const instant start{seconds{1'800'000'000 + 300 + 30 + 5}};
};

using Offenders = fixture;

// A key is one key on whatever loop it arrives, and another one under another limit.
TEST_F(Offenders, LoopsAreAddedUpByLimitAndKey) {
  for (int i = 0; i < 3; ++i) one.add(ranking::refusals, 0, "a", start);
  for (int i = 0; i < 4; ++i) two.add(ranking::refusals, 0, "a", start);
  two.add(ranking::refusals, 1, "a", start);
  two.add(ranking::requests, 1, "b", start);
  const auto r = report.report(streams, ranking::refusals, window::minute, 10, start);
  ASSERT_EQ(r.top.size(), 2U);
  EXPECT_EQ(r.top[0].limit, 0U);
  EXPECT_EQ(r.top[0].at_least, 7U);
  EXPECT_EQ(r.top[0].at_most, 7U);
  EXPECT_EQ(r.top[1].limit, 1U);
  EXPECT_EQ(r.total, 8U);
  EXPECT_EQ(r.floor, 0U);
  EXPECT_EQ(report.report(streams, ranking::requests, window::hour, 10, start).top[0].key, "b");
}

// What left a window is gone from it and still in the longer ones.
TEST_F(Offenders, WindowsForgetAfterTheirTime) {
  one.add(ranking::requests, 0, "old", start);
  const auto listed = [&](window w, instant now) {
    return report.report(streams, ranking::requests, w, 10, now).top.size();
  };
  EXPECT_EQ(listed(window::minute, start + seconds{54}), 1U);
  EXPECT_EQ(listed(window::minute, start + seconds{75}), 0U);
  EXPECT_EQ(listed(window::ten_minutes, start + seconds{75}), 1U);
  EXPECT_EQ(listed(window::ten_minutes, start + minutes{12}), 0U);
  EXPECT_EQ(listed(window::hour, start + minutes{59}), 1U);
  EXPECT_EQ(listed(window::hour, start + minutes{75}), 0U);
}

// The report says how much time its figures stand for: never less than the window.
TEST_F(Offenders, CoversAtLeastTheWindow) {
  const auto covered = [&](window w) {
    return report.report(streams, ranking::requests, w, 1, start).covered;
  };
  EXPECT_EQ(covered(window::minute), seconds{65});
  EXPECT_GE(covered(window::ten_minutes), minutes{10});
  EXPECT_LE(covered(window::ten_minutes), minutes{11});
  EXPECT_GE(covered(window::hour), minutes{60});
  EXPECT_LE(covered(window::hour), minutes{70});
}

// A loop that is busy while nobody reports must neither block nor grow.
TEST_F(Offenders, AReportThatComesLateLosesOldStretchesOnly) {
  for (int s = 0; s < 100; ++s) one.add(ranking::requests, 0, "k", start + seconds{10 * s});
  const auto r = report.report(streams, ranking::requests, window::hour, 1, start + seconds{990});
  EXPECT_EQ(r.total, 3U);
}

// A clock that steps back must not open a stretch that was taken already.
TEST_F(Offenders, AClockThatGoesBackCountsIntoTheStretchInProgress) {
  one.add(ranking::requests, 0, "k", start);
  one.add(ranking::requests, 0, "k", start - minutes{5});
  const auto r = report.report(streams, ranking::requests, window::minute, 1, start);
  EXPECT_EQ(r.total, 2U);
}

}  // namespace
}  // namespace penstock::telemetry
