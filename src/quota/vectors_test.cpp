#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "quota/testdata/row.hpp"
#include "quota/testdata/subject.hpp"

namespace penstock::quotas::testdata {
namespace {

using namespace std::chrono_literals;

#include "quota/testdata/vectors.inc"

struct vector_case {
  std::string name;
  quota q;
  std::span<const row> rows;
};

std::vector<vector_case> cases() {
  using enum algorithm;
  const quota fixed{.kind = fixed_window, .count = 5, .period = 10s};
  const quota log{.kind = sliding_window_log, .count = 3, .period = 10s};
  const quota counter{.kind = sliding_window_counter, .count = 50, .period = 60s};
  const quota bucket{.count = 2, .period = 1s, .burst = 10};
  const quota gcra_ten{.count = 10, .period = 5s};
  const quota log_seven{.kind = sliding_window_log, .count = 7, .period = 3s};
  const quota bucket_eleven{.count = 7, .period = 3s, .burst = 11};
  const quota queue{.kind = leaky_bucket, .count = 2, .period = 1s, .queue = 3};
  const quota queue_thirds{.kind = leaky_bucket, .count = 7, .period = 3s, .queue = 4};
  return {
      {"fixed_window", fixed, fixed_window_rows},
      {"fixed_refund", fixed, fixed_refund},
      {"fixed_back", fixed, fixed_back},
      {"fixed_trace", fixed, fixed_trace},
      {"log", log, sliding_log},
      {"log_refund", log, log_refund},
      {"log_back", log, log_back},
      {"log_trace", log_seven, log_trace},
      {"counter", counter, sliding_counter_rows},
      {"counter_refund", counter, counter_refund},
      {"counter_back", counter, counter_back},
      {"counter_trace", counter, counter_trace},
      {"bucket", bucket, token_bucket_rows},
      {"bucket_refund", bucket, bucket_refund},
      {"bucket_back", bucket, bucket_back},
      {"bucket_trace", bucket_eleven, bucket_trace},
      {"leaky_meter", bucket, leaky_meter},
      {"gcra", gcra_ten, gcra},
      {"gcra_refund", gcra_ten, gcra_refund},
      {"gcra_back", gcra_ten, gcra_back},
      {"gcra_strict", {.count = 1, .period = 1s}, gcra_strict},
      {"gcra_thirds", {.count = 3, .period = 1s}, gcra_thirds},
      {"queue", queue, leaky_queue},
      {"queue_trace", queue_thirds, queue_trace},
  };
}

class Vectors : public testing::TestWithParam<vector_case> {};

// Every row of the definition, to the microsecond: what users, both stores and the documentation
// rely on.
TEST_P(Vectors, AnswerEveryRowExactly) {
  const vector_case& c = GetParam();
  subject s{c.q};
  int line = 0;
  for (const row& r : c.rows) {
    SCOPED_TRACE(c.name + " row " + std::to_string(++line));
    const instant now{duration{r.at_us}};
    if (r.what == op::refund) {
      s.refund(now, instant{duration{r.charged_at_us}}, r.cost);
      continue;
    }
    const verdict v = s.take(now, r.cost);
    EXPECT_EQ(v.admitted, r.admitted);
    EXPECT_EQ(v.remaining, r.remaining);
    EXPECT_EQ(v.never, r.retry_us == -1);
    EXPECT_EQ(v.retry_after.count(), std::max<std::int64_t>(0, r.retry_us));
    EXPECT_EQ(v.reset_after.count(), r.reset_us);
    EXPECT_EQ(v.delay.count(), r.delay_us);
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, Vectors, testing::ValuesIn(cases()),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace penstock::quotas::testdata
