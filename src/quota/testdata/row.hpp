// One row of the vector tables: an operation at a time, and the exact answer. Times and waits in
// microseconds, waits rounded up to the microsecond.
#pragma once

#include <cstdint>

namespace penstock::quotas::testdata {

enum class op : std::uint8_t { take, refund };

struct row {
  std::int64_t at_us;
  op what;
  std::int64_t cost;
  std::int64_t charged_at_us;  // refund only
  bool admitted;
  std::int64_t remaining;
  std::int64_t retry_us;  // -1 = never
  std::int64_t reset_us;
  std::int64_t delay_us;
};

}  // namespace penstock::quotas::testdata
