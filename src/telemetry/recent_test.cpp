#include "telemetry/recent.hpp"

#include <string>

#include <gtest/gtest.h>

namespace penstock::telemetry {
namespace {

// The ring keeps the latest and its texts are bounded, because they come from clients.
TEST(RefusalRing, KeepsTheLatestWithBoundedTexts) {
  refusal_ring ring;
  EXPECT_TRUE(ring.latest().empty());
  for (int i = 0; i < 200; ++i) {
    ring.add({.at = instant{std::chrono::seconds{i}}, .path = std::string(500, 'p'), .status = i});
  }
  const auto latest = ring.latest();
  ASSERT_EQ(latest.size(), refusal_ring::size);
  EXPECT_EQ(latest.front().status, 199);
  EXPECT_EQ(latest.back().status, 200 - static_cast<int>(refusal_ring::size));
  EXPECT_EQ(latest.front().path.size(), refusal_ring::text_max);
}

// The same for events, before and after the ring is full.
TEST(EventRing, KeepsTheLatest) {
  event_ring ring;
  ring.add({.text = "first"});
  ring.add({.text = "second"});
  ASSERT_EQ(ring.latest().size(), 2U);
  EXPECT_EQ(ring.latest().front().text, "second");
  for (int i = 0; i < 300; ++i) ring.add({.text = std::to_string(i)});
  EXPECT_EQ(ring.latest().size(), event_ring::size);
  EXPECT_EQ(ring.latest().front().text, "299");
}

}  // namespace
}  // namespace penstock::telemetry
