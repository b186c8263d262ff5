#include <cstdlib>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "quota/testdata/tape.hpp"

namespace penstock::quotas::testdata {
namespace {

struct seeded {
  std::mt19937_64 random;
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>{low, high}(random);
  }
  [[nodiscard]] static bool done() { return false; }
};

// Every verdict of a random tape (reloads, refunds, clocks that go back) equals that of a model
// which shares no code with it and finds each wait by searching. PENSTOCK_TEST_SEED and
// PENSTOCK_TEST_TAPES widen it.
TEST(Algorithms, AnswerAsTheModelDoes) {
  const auto setting = [](const char* name, std::uint64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
  };
  const std::uint64_t seed = setting("PENSTOCK_TEST_SEED", 1);
  const std::uint64_t tapes = setting("PENSTOCK_TEST_TAPES", 1'500);
  for (std::uint64_t i = 0; i < tapes; ++i) {
    seeded source{std::mt19937_64{seed * 1'000'003 + i}};
    const std::string difference = tape{source}.play(40);
    ASSERT_TRUE(difference.empty()) << "seed " << seed << " tape " << i << "\n" << difference;
  }
}

}  // namespace
}  // namespace penstock::quotas::testdata
