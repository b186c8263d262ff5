#include "admin/history.hpp"

#include <gtest/gtest.h>

namespace penstock::admin {
namespace {

// A step shows what happened in it, not since the start.
TEST(History, ShowsDifferences) {
  telemetry::metrics m({1, 2});
  auto& l = m.add_loop();
  history h;
  const instant start{std::chrono::seconds{1000}};
  l.decided(telemetry::no_slot, telemetry::outcome::allow);
  h.add(m.sum(), start);
  EXPECT_TRUE(h.samples().empty());
  for (int i = 0; i < 3; ++i) l.decided(telemetry::no_slot, telemetry::outcome::deny);
  l.add(telemetry::tally::requests_exempt);
  l.check_duration.observe(std::chrono::microseconds{70});
  h.add(m.sum(), start + history::step);
  h.add(m.sum(), start + 2 * history::step);
  const auto s = h.samples();
  ASSERT_EQ(s.size(), 2U);
  EXPECT_EQ(s[0].allowed, 0U);
  EXPECT_EQ(s[0].refused, 3U);
  EXPECT_EQ(s[0].other, 1U);
  EXPECT_EQ(s[0].check_p99_ns, 100'000);
  EXPECT_EQ(s[0].length, history::step);
  EXPECT_EQ(s[1].refused, 0U);
  EXPECT_EQ(s[1].check_p99_ns, 0);
}

// Half an hour and no more, oldest first.
TEST(History, KeepsTheLatestInOrder) {
  telemetry::metrics m({1, 2});
  history h;
  for (int i = 0; i <= 500; ++i) h.add(m.sum(), instant{i * history::step});
  const auto s = h.samples();
  ASSERT_EQ(s.size(), history::steps_max);
  EXPECT_EQ(s.back().at, instant{500 * history::step});
  EXPECT_EQ(s.front().at, instant{(500 - 359) * history::step});
}

}  // namespace
}  // namespace penstock::admin
