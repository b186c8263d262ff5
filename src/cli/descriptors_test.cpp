#include "cli/descriptors.hpp"

#include <gtest/gtest.h>

namespace penstock::cli {
namespace {

struct row {
  std::size_t limit;
  bool decides;
  std::size_t gateway, decision;
};

// The sum of all that clients can take must leave the reserve, at every limit that one meets.
TEST(Descriptors, AreSharedSoThatTheReserveIsLeft) {
  const row rows[] = {
      {1024, false, 480, 0},     {1024, true, 420, 120},
      {20'000, false, 9'968, 0}, {1 << 20, true, 458'724, 131'064},
      {256, false, 96, 0},       {256, true, 84, 24},
      {128, false, 32, 0},       {16, true, 3, 1},
      {1, true, 1, 1},
  };
  for (const auto& r : rows) {
    const auto got = share_descriptors(r.limit, r.decides);
    EXPECT_EQ(got.gateway_clients, r.gateway) << r.limit;
    EXPECT_EQ(got.decision_clients, r.decision) << r.limit;
    if (r.limit > 2 * reserved_descriptors) {
      EXPECT_LE(2 * got.gateway_clients + got.decision_clients, r.limit - reserved_descriptors);
    }
  }
}

}  // namespace
}  // namespace penstock::cli
