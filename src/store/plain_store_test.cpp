#include "store/plain_store.hpp"

#include <chrono>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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

// A store that records as store.hpp says by default.
class asking_store final : public store {
 public:
  progress check(batch& b, instant now) override { return counted_.check(b, now); }
  void refund(std::span<const charge> charges, instant charged_at, instant now) override {
    counted_.refund(charges, charged_at, now);
  }
  void reset(const counter& what, std::string_view key) override { counted_.reset(what, key); }

 private:
  plain_store counted_;
};

// A store without a record() of its own still records what fits, and what was only checked before.
TEST_P(Plain_store, Records_by_asking) {
  asking_store store;
  const std::vector<std::string> differences = conformance::play(
      GetParam(), {.under_test = store}, instant{std::chrono::seconds{1'800'000'000}}, "");
  for (const std::string& line : differences) ADD_FAILURE() << line;
}

INSTANTIATE_TEST_SUITE_P(Rows, Plain_store, testing::ValuesIn(conformance::scenarios()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace penstock::store
