// The vectors of the algorithms, one key each, as scenarios of a store.
#include <span>

#include "quota/testdata/row.hpp"
#include "store/conformance.hpp"
#include "store/conformance_parts.hpp"

namespace penstock::store::conformance {
namespace {

using namespace std::chrono_literals;
using quotas::testdata::row;
using op = quotas::testdata::op;

#include "quota/testdata/vectors.inc"

step to_step(const row& r) {
  const charge_row one{.limit = 0, .key = "k", .cost = r.cost};
  if (r.what == op::refund) {
    return {.at_us = r.at_us,
            .what = conformance::op::refund,
            .charges = {one},
            .wants = {},
            .charged_at_us = r.charged_at_us};
  }
  return {.at_us = r.at_us,
          .what = conformance::op::take,
          .charges = {one},
          .wants = {{r.admitted, r.remaining, r.retry_us, r.reset_us, r.delay_us}}};
}

scenario on_one_key(std::string name, const quota& q, std::span<const row> rows) {
  scenario s{.name = std::move(name), .limits = {{.id = "l", .q = q}}, .steps = {}};
  for (const row& r : rows) s.steps.push_back(to_step(r));
  return s;
}

}  // namespace

std::vector<scenario> algorithm_scenarios() {
  using enum algorithm;
  const quota fixed{.kind = fixed_window, .count = 5, .period = 10s};
  const quota log{.kind = sliding_window_log, .count = 3, .period = 10s};
  const quota log_seven{.kind = sliding_window_log, .count = 7, .period = 3s};
  const quota counter{.kind = sliding_window_counter, .count = 50, .period = 60s};
  const quota bucket{.count = 2, .period = 1s, .burst = 10};
  const quota bucket_eleven{.count = 7, .period = 3s, .burst = 11};
  const quota gcra_ten{.count = 10, .period = 5s};
  const quota queue{.kind = leaky_bucket, .count = 2, .period = 1s, .queue = 3};
  const quota queue_thirds{.kind = leaky_bucket, .count = 7, .period = 3s, .queue = 4};
  return {
      on_one_key("fixed_window", fixed, fixed_window_rows),
      on_one_key("fixed_window_refund", fixed, fixed_refund),
      on_one_key("fixed_window_clock_back", fixed, fixed_back),
      on_one_key("fixed_window_trace", fixed, fixed_trace),
      on_one_key("log", log, sliding_log),
      on_one_key("log_refund", log, log_refund),
      on_one_key("log_clock_back", log, log_back),
      on_one_key("log_trace", log_seven, log_trace),
      on_one_key("counter", counter, sliding_counter_rows),
      on_one_key("counter_refund", counter, counter_refund),
      on_one_key("counter_clock_back", counter, counter_back),
      on_one_key("counter_trace", counter, counter_trace),
      on_one_key("bucket", bucket, token_bucket_rows),
      on_one_key("bucket_refund", bucket, bucket_refund),
      on_one_key("bucket_clock_back", bucket, bucket_back),
      on_one_key("bucket_trace", bucket_eleven, bucket_trace),
      on_one_key("bucket_as_meter", bucket, leaky_meter),
      on_one_key("gcra", gcra_ten, gcra),
      on_one_key("gcra_refund", gcra_ten, gcra_refund),
      on_one_key("gcra_clock_back", gcra_ten, gcra_back),
      on_one_key("gcra_strict", {.count = 1, .period = 1s}, gcra_strict),
      on_one_key("gcra_thirds", {.count = 3, .period = 1s}, gcra_thirds),
      on_one_key("queue", queue, leaky_queue),
      on_one_key("queue_trace", queue_thirds, queue_trace),
  };
}

}  // namespace penstock::store::conformance
