#include "telemetry/space_saving.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace penstock::telemetry {
namespace {

using counts = std::map<std::uint64_t, std::uint64_t>;

// What a summary promises about the true counts.
void expect_true(const key_summary& s, const counts& truth, std::uint64_t total) {
  RC_ASSERT(s.total == total);
  counts listed;
  for (const key_count& k : s.keys) {
    const auto found = truth.find(k.id);
    const std::uint64_t real = found == truth.end() ? 0 : found->second;
    RC_ASSERT(k.at_least <= real);
    RC_ASSERT(real <= k.at_most);
    RC_ASSERT(listed.emplace(k.id, real).second);
  }
  for (const auto& [id, real] : truth) {
    if (!listed.contains(id)) RC_ASSERT(real <= s.floor);
  }
}

// Bounds must hold for every stream, or an operator bans the wrong client.
TEST(SpaceSaving, BoundsHoldForEveryStream) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& stream) {
    space_saving sketch(8);
    counts truth;
    for (const std::uint8_t id : stream) {
      sketch.add(id, 0, std::to_string(id));
      ++truth[id];
    }
    const key_summary s = sketch.summary();
    expect_true(s, truth, stream.size());
    RC_ASSERT(s.floor <= stream.size() / 8);
    for (const key_count& k : s.keys) {
      RC_ASSERT(k.key == std::to_string(k.id));
      RC_ASSERT(k.at_most - k.at_least <= stream.size() / 8);
    }
  }));
}

// Loops and stretches of time are merged; the promises must survive, trimming included.
TEST(KeySummary, BoundsSurviveMerging) {
  EXPECT_TRUE(rc::check([](const std::vector<std::vector<std::uint8_t>>& streams) {
    key_summary all;
    counts truth;
    std::uint64_t total = 0;
    for (const auto& stream : streams) {
      space_saving sketch(6);
      for (const std::uint8_t id : stream) {
        sketch.add(id, 0, "k");
        ++truth[id];
        ++total;
      }
      all.merge(sketch.summary(), 9);
    }
    RC_ASSERT(all.keys.size() <= 9U);
    expect_true(all, truth, total);
  }));
}

// The point of it all: who is 2 % of a large stream of strangers is found and measured.
TEST(SpaceSaving, AHeavyKeyAmongStrangersIsFound) {
  space_saving sketch(256);
  std::mt19937_64 random(7);
  std::uint64_t heavy = 0;
  for (int i = 0; i < 200'000; ++i) {
    if (random() % 50 == 0) {
      sketch.add(1, 3, "heavy");
      ++heavy;
    } else {
      sketch.add(random() | 2U, 0, "stranger");
    }
  }
  const auto top = sketch.summary().top(1);
  ASSERT_EQ(top.size(), 1U);
  EXPECT_EQ(top[0].key, "heavy");
  EXPECT_EQ(top[0].limit, 3U);
  EXPECT_LE(top[0].at_least, heavy);
  EXPECT_GE(top[0].at_most, heavy);
  EXPECT_LE(top[0].at_most - top[0].at_least, 200'000U / 256);
}

// Places are reused every ten seconds; nothing of the old stretch may show through.
TEST(SpaceSaving, ClearedIsAsNew) {
  space_saving sketch(2);
  for (std::uint64_t id = 0; id < 100; ++id) sketch.add(id, 0, "old");
  sketch.clear();
  EXPECT_EQ(sketch.summary().keys.size(), 0U);
  sketch.add(5, 1, std::string(1000, 'x'));
  const key_summary s = sketch.summary();
  ASSERT_EQ(s.keys.size(), 1U);
  EXPECT_EQ(s.keys[0].at_most, 1U);
  EXPECT_EQ(s.keys[0].key.size(), key_text_max);
  EXPECT_EQ(s.floor, 0U);
}

}  // namespace
}  // namespace penstock::telemetry
