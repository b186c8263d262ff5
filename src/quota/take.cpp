// Which algorithm decides; and what is common to all: a quota of nothing refuses everything.
#include "quota/algorithms.hpp"
#include "quota/compiled.hpp"
#include "quota/schedule.hpp"

namespace penstock::quotas {

outcome take(const compiled& q, const state& prior, std::int64_t now, std::int64_t cost) noexcept {
  if (q.capacity == 0) {
    outcome out{prior, false, {}};
    out.result.admitted = cost == 0;
    out.result.never = cost > 0;
    return out;
  }
  switch (q.source.kind) {
    case algorithm::fixed_window:
      return fixed_window::take(q, prior, now, cost);
    case algorithm::sliding_window_counter:
      return sliding_counter::take(q, prior, now, cost);
    case algorithm::leaky_bucket:
      return leaky_bucket::take(q, prior, now, cost);
    case algorithm::token_bucket:
    case algorithm::sliding_window_log:  // a log is not kept in a state: excluded by the
                                         // precondition
      break;
  }
  return token_bucket::take(q, prior, now, cost);
}

outcome refund(const compiled& q, const state& prior, std::int64_t now, std::int64_t charged_at,
               std::int64_t cost) noexcept {
  if (q.capacity == 0 || !prior.present) return {prior, false, take(q, prior, now, 0).result};
  switch (q.source.kind) {
    case algorithm::fixed_window:
      return fixed_window::refund(q, prior, now, charged_at, cost);
    case algorithm::sliding_window_counter:
      return sliding_counter::refund(q, prior, now, charged_at, cost);
    case algorithm::leaky_bucket:
      return leaky_bucket::refund(q, prior, now, charged_at, cost);
    case algorithm::token_bucket:
    case algorithm::sliding_window_log:
      break;
  }
  return token_bucket::refund(q, prior, now, cost);
}

std::int64_t expires_at(const compiled& q, const state& s) noexcept {
  if (!s.present) return 0;
  switch (q.source.kind) {
    case algorithm::fixed_window:
      return fixed_window::expires_at(q, s);
    case algorithm::sliding_window_counter:
      return sliding_counter::expires_at(q, s);
    case algorithm::leaky_bucket:
    case algorithm::token_bucket:
    case algorithm::sliding_window_log:
      break;
  }
  return stored_time_ends(q, s);
}

}  // namespace penstock::quotas
