#include "store/memory/memory_store.hpp"

#include <array>
#include <chrono>

#include <gtest/gtest.h>

#include "store/conformance.hpp"

namespace penstock::store {
namespace {

class Memory_store : public testing::TestWithParam<conformance::scenario> {};

// The same rows as on the pure functions, the plain store and Redis: at the epoch, at the time that
// clocks have today, and near the end of the time that states can hold (the year 2255).
TEST_P(Memory_store, Conforms) {
  for (const std::int64_t origin_s : std::array<std::int64_t, 3>{0, 1'800'000'000, 9'000'000'000}) {
    memory_store store({.max_bytes = 1U << 20U});
    const std::vector<std::string> differences = conformance::play(
        GetParam(), {.under_test = store}, instant{std::chrono::seconds{origin_s}}, "");
    for (const std::string& line : differences) ADD_FAILURE() << origin_s << ": " << line;
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, Memory_store, testing::ValuesIn(conformance::scenarios()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace penstock::store
