#include "admin/history.hpp"

namespace penstock::admin {

using telemetry::tally;

void history::add(const telemetry::totals& now_counted, instant now) {
  if (begun_) {
    const auto since = [&](tally t) { return now_counted.of(t) - before_.of(t); };
    telemetry::histogram_sum checks = now_counted.check_duration;
    for (std::size_t i = 0; i < checks.counts.size(); ++i) {
      checks.counts[i] -= before_.check_duration.counts[i];
    }
    const sample s{
        .at = now,
        .length = now - before_at_,
        .allowed = since(tally::requests_allowed),
        .delayed = since(tally::requests_delayed),
        .refused = since(tally::requests_refused),
        .degraded =
            since(tally::requests_degraded_allowed) + since(tally::requests_degraded_refused),
        .other = since(tally::requests_exempt) + since(tally::requests_blocked) +
                 since(tally::requests_banned) + since(tally::requests_bad),
        .store_errors = since(tally::store_timeouts) + since(tally::store_disconnects) +
                        since(tally::store_replies_unusable),
        .check_p50_ns = checks.quantile(500).count(),
        .check_p99_ns = checks.quantile(990).count(),
    };
    if (ring_.size() < steps_max) {
      ring_.push_back(s);
    } else {
      ring_[next_] = s;
      next_ = (next_ + 1) % steps_max;
    }
  }
  begun_ = true;
  before_ = now_counted;
  before_at_ = now;
}

std::vector<history::sample> history::samples() const {
  std::vector<sample> out;
  out.reserve(ring_.size());
  for (std::size_t i = 0; i < ring_.size(); ++i) out.push_back(ring_[(next_ + i) % ring_.size()]);
  return out;
}

}  // namespace penstock::admin
