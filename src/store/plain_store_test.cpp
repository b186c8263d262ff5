#include "store/plain_store.hpp"

#include <chrono>

#include <gtest/gtest.h>

#include "store/conformance.hpp"

namespace penstock::store {
namespace {

class Plain_store : public testing::TestWithParam<conformance::scenario> {};

// The reference answers every row as it was computed by hand or by the model.
TEST_P(Plain_store, Conforms) {
  plain_store store;
  const std::vector<std::string> differences = conformance::play(
      GetParam(), {.under_test = store}, instant{std::chrono::seconds{1'800'000'000}}, "");
  for (const std::string& line : differences) ADD_FAILURE() << line;
}

INSTANTIATE_TEST_SUITE_P(Rows, Plain_store, testing::ValuesIn(conformance::scenarios()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace penstock::store
