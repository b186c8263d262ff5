// Keys made to collide under a hash that anybody can compute must be keys like all others.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include "quota/testdata/subject.hpp"
#include "store/memory/memory_store.hpp"

namespace penstock::store {
namespace {

using namespace std::chrono_literals;

// libstdc++ hashes 8 bytes at a time: h = (h ^ mix(word)) * mul. A flip of the top bit of mix(word)
// in two words that follow each other cancels out, whatever the seed; so each of n pairs of words
// has two forms, and all 2^n keys have one hash. Source: Aumasson, Bernstein, "SipHash" (2012),
// section 6, on MurmurHash.
constexpr std::uint64_t mul = (std::uint64_t{0xc6a4a793} << 32U) + 0x5bd1e995;

std::uint64_t inverse_of_mul() {
  std::uint64_t inverse = mul;
  for (int i = 0; i < 6; ++i) inverse *= 2 - mul * inverse;
  return inverse;
}

// The word that is mixed to `mixed`.
std::uint64_t unmix(std::uint64_t mixed) {
  const std::uint64_t inverse = inverse_of_mul();
  const std::uint64_t v = mixed * inverse;
  return (v ^ (v >> 47U)) * inverse;
}

std::vector<std::string> colliding_keys(std::size_t n) {
  constexpr std::size_t pairs = 17;
  std::mt19937_64 random(5);
  std::vector<std::uint64_t> mixed(2 * pairs);
  for (std::uint64_t& each : mixed) each = random();
  std::vector<std::string> keys(n, std::string(16 * pairs, '\0'));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t w = 0; w < 2 * pairs; ++w) {
      const std::uint64_t top = (std::uint64_t{i} >> (w / 2) & 1U) << 63U;
      const std::uint64_t word = unmix(mixed[w] ^ top);
      std::memcpy(keys[i].data() + 8 * w, &word, sizeof word);
    }
  }
  return keys;
}

std::vector<std::string> random_keys(std::size_t n, std::size_t length) {
  std::mt19937_64 random(6);
  std::vector<std::string> keys(n, std::string(length, '\0'));
  for (std::string& key : keys) {
    for (char& c : key) c = static_cast<char>(random());
  }
  return keys;
}

memory_stats stats_with(const std::vector<std::string>& keys) {
  memory_store s({.max_bytes = std::size_t{2} << 20U, .secret = hash128{7, 8}});
  const counter what{.id = "l",
                     .quota = quotas::testdata::compile_or_throw({.count = 100, .period = 24h})};
  for (const std::string& key : keys) {
    const charge one{.what = &what, .key = key};
    verdict answer;
    batch b;
    b.charges = {&one, 1};
    b.verdicts = {&answer, 1};
    s.check(b, instant{1'800'000'000s});
    EXPECT_TRUE(answer.admitted);
  }
  return s.stats();
}

// The table is almost full, so a hash that spread these keys badly would look at more states, grow
// earlier and push out more. An unordered_set of them is one chain: they do collide.
TEST(Memory_store_collisions, Keys_made_to_collide_cost_what_random_ones_cost) {
#if !defined(__GLIBCXX__) || !defined(__LP64__)
  GTEST_SKIP() << "the keys are made for the hash of 64-bit libstdc++";
#endif
  constexpr std::size_t n = 100'000;
  const std::vector<std::string> colliding = colliding_keys(n);
  const std::size_t one_hash = std::hash<std::string>{}(colliding[0]);
  EXPECT_TRUE(std::all_of(colliding.begin(), colliding.end(), [&](const std::string& key) {
    return std::hash<std::string>{}(key) == one_hash;
  }));
  const std::unordered_set<std::string> naive(colliding.begin(), colliding.begin() + 500);
  EXPECT_EQ(naive.bucket_size(naive.bucket(colliding[0])), 500U);

  const memory_stats made = stats_with(colliding);
  const memory_stats random = stats_with(random_keys(n, colliding[0].size()));
  EXPECT_EQ(made.table_full, 0U);
  EXPECT_EQ(made.entries + made.evicted_live, n);  // each has a counter of its own
  EXPECT_GT(random.looked_at, 1'000U);
  EXPECT_LE(made.looked_at * 2, random.looked_at * 3);
  EXPECT_LE(made.evicted_live * 2, random.evicted_live * 3);
  EXPECT_LE(made.bytes, random.bytes + random.bytes / 100);
}

}  // namespace
}  // namespace penstock::store
