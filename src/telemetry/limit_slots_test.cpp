#include "telemetry/limit_slots.hpp"

#include <gtest/gtest.h>

namespace penstock::telemetry {
namespace {

// Counters survive a reload because an unchanged limit comes back to its slot
// (caddy-ratelimit#100).
TEST(LimitSlots, AnUnchangedLimitKeepsItsSlot) {
  limit_slots slots;
  const std::vector<limit_label> first = {{"a", "address", "*"}, {"b", "user", "/x"}};
  EXPECT_EQ(slots.assign(first), (std::vector<slot>{0, 1}));
  const std::vector<limit_label> second = {
      {"c", "global", "*"}, {"b", "user", "/x"}, {"a", "address", "/y"}};
  EXPECT_EQ(slots.assign(second), (std::vector<slot>{2, 1, 3}));
  EXPECT_EQ(slots.entries().size(), 4U);
  EXPECT_EQ(slots.label(3).endpoint, "/y");
  EXPECT_EQ(slots.label(no_slot).name, "");
}

// The bound holds whatever a configuration holds; the surplus is counted, not lost.
TEST(LimitSlots, LimitsBeyondTheBoundShareOneSlot) {
  limit_slots slots;
  std::vector<limit_label> many;
  for (int i = 0; i < 1100; ++i) many.push_back({"l" + std::to_string(i), "address", "*"});
  const auto given = slots.assign(many);
  EXPECT_EQ(given[slots_max - 1], slots_max - 1);
  EXPECT_EQ(given[slots_max], overflow_slot);
  EXPECT_EQ(given.back(), overflow_slot);
  EXPECT_EQ(slots.overflowed(), many.size() - slots_max);
  EXPECT_EQ(slots.entries().size(), slot_count);
  EXPECT_EQ(slots.entries().back().label.name, "other");
}

}  // namespace
}  // namespace penstock::telemetry
