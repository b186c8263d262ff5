// A tape of operations on one key, played to the implementation and to the model at once. The
// numbers come from a source (a seeded generator, or a fuzzer's bytes), so a test and a fuzz target
// share it.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "quota/accept.hpp"
#include "quota/names.hpp"
#include "quota/testdata/model.hpp"
#include "quota/testdata/subject.hpp"

namespace penstock::quotas::testdata {

inline std::string to_text(const verdict& v) {
  std::ostringstream out;
  out << (v.admitted ? "admitted" : "refused") << (v.never ? " never" : "") << " limit " << v.limit
      << " remaining " << v.remaining << " retry " << v.retry_after.count() << " next "
      << v.next_after.count() << " reset " << v.reset_after.count() << " delay " << v.delay.count();
  return out.str();
}

// `Source`: std::int64_t pick(std::int64_t low, std::int64_t high), bool done().
template <class Source>
class tape {
 public:
  explicit tape(Source& source) : source_(source) {}

  // Plays `steps` operations at most; returns the first difference, empty when there is none.
  std::string play(int steps) {
    quota q = some_quota(static_cast<algorithm>(source_.pick(0, 4)));
    subject real{q};
    model expected{q, real.q().tick_us};
    std::ostringstream told;
    told << describe(q) << "\n";
    std::int64_t now = 1'000'000'000'000'000 + source_.pick(0, 1'000'000) * 1'000;
    std::vector<taken> charges;
    for (int i = 0; i < steps && !source_.done(); ++i) {
      now += some_step(real.q());
      const instant t{duration{now}};
      const std::int64_t ticks = real.q().ticks(t);
      switch (source_.pick(0, 9)) {
        case 0:
          if (charges.empty()) break;
          {
            const auto at = static_cast<std::size_t>(
                source_.pick(0, static_cast<std::int64_t>(charges.size()) - 1));
            const taken c = charges[at];
            charges.erase(charges.begin() + static_cast<std::ptrdiff_t>(at));
            told << now << " refund " << c.cost << " of " << c.at << "\n";
            real.refund(t, instant{duration{c.at}}, c.cost);
            expected.refund(ticks, real.q().ticks(instant{duration{c.at}}), c.cost);
          }
          break;
        case 1:
          if (source_.pick(0, 3) != 0) break;
          q = changed(q);
          real.change(q);
          expected.change(q, real.q().tick_us);
          told << now << " change to " << describe(q) << "\n";
          break;
        case 2: {
          const std::int64_t cost = some_cost(real.q());
          told << now << " peek " << cost;
          const std::string bad = differ(real.peek(t, cost), expected.peek(ticks, cost), told);
          if (!bad.empty()) return bad;
          break;
        }
        default: {
          const std::int64_t cost = some_cost(real.q());
          told << now << " take " << cost;
          const verdict v = real.take(t, cost);
          const std::string bad = differ(v, expected.take(ticks, cost), told);
          if (!bad.empty()) return bad;
          if (v.admitted && cost > 0) charges.push_back({now, cost});
        }
      }
      if (real.log().total() > real.q().source.max_entries) return told.str() + "log too long";
    }
    return {};
  }

 private:
  struct taken {
    std::int64_t at;
    std::int64_t cost;
  };

  static std::string differ(const verdict& got, const verdict& want, std::ostringstream& told) {
    told << ": " << to_text(got) << "\n";
    if (got == want && got.remaining >= 0) return {};
    return told.str() + "expected " + to_text(want);
  }

  duration some_period() {
    constexpr std::array<std::int64_t, 9> periods{1'000,      1'001,          7'000,
                                                  1'000'000,  3'000'000,      10'000'000,
                                                  60'000'000, 86'400'000'000, 34'560'000'000'000};
    return duration{periods[static_cast<std::size_t>(source_.pick(0, periods.size() - 1))]};
  }

  std::int64_t some_count(std::int64_t top) {
    switch (source_.pick(0, 9)) {
      case 0:
        return source_.pick(0, 1);
      case 1:
        return std::min(top, source_.pick(1, 1'000'003));
      case 2:
        return std::min(top, source_.pick(1, 300));
      default:
        return source_.pick(1, 12);
    }
  }

  // Small numbers mostly, so that tapes reach every edge; accepted ones always.
  quota some_quota(algorithm kind) {
    quota q{.kind = kind, .period = some_period()};
    fill(q);
    return q;
  }

  void fill(quota& q) {
    const bool log = q.kind == algorithm::sliding_window_log;
    q.count = some_count(log ? 300 : 1'000'003);
    q.burst.reset();
    q.queue = q.undelayed = 0;
    q.max_delay.reset();
    if (q.kind == algorithm::leaky_bucket) {
      q.queue = some_count(1'000);
      q.undelayed = source_.pick(0, std::min<std::int64_t>(q.queue, 4));
      if (source_.pick(0, 2) == 0) q.max_delay = duration{source_.pick(0, q.period.count())};
    } else if (source_.pick(0, 1) == 0) {
      q.burst = some_count(log ? 50 : 1'000);
    }
    if (!q.burst || q.kind == algorithm::token_bucket) q.burst_window.reset();
    if (q.burst && q.kind != algorithm::token_bucket && !q.burst_window &&
        source_.pick(0, 1) == 0) {
      q.burst_window = some_period();
    }
    if (const auto p = find_problem(q)) q = p->nearest;
  }

  // A reload: other numbers, same algorithm, period and burst window.
  quota changed(const quota& q) {
    quota next = q;
    fill(next);
    next.burst_window = q.burst_window;
    if (next.burst_window && !next.burst) next.burst = 1;
    if (const auto p = find_problem(next)) return q;
    return next;
  }

  std::int64_t some_cost(const compiled& q) {
    switch (source_.pick(0, 7)) {
      case 0:
        return 0;
      case 1:
        return std::max<std::int64_t>(0, q.capacity - source_.pick(-1, 1));
      case 2:
        return source_.pick(0, 1'000'000);
      case 3:
        return INT64_MAX - source_.pick(0, 1);
      default:
        return source_.pick(1, std::clamp<std::int64_t>(q.capacity / 2, 1, 6));
    }
  }

  // Microseconds; mostly forward, by amounts that matter to the quota.
  std::int64_t some_step(const compiled& q) {
    const std::int64_t period = q.source.period.count();
    const std::int64_t unit =
        std::max<std::int64_t>(1, period / std::max<std::int64_t>(1, q.source.count));
    switch (source_.pick(0, 15)) {
      case 0:
        return period;
      case 1:
        return source_.pick(0, 3 * period);
      case 2:
        return q.burst_period * q.tick_us;
      case 3:
        return source_.pick(-unit, unit);
      case 4:
        return source_.pick(0, 3) == 0 ? -source_.pick(0, period) : 0;
      case 5:
        return source_.pick(0, 3) == 0 ? -source_.pick(0, 4 * period) : 1;
      case 6:
        return q.tick_us * source_.pick(-1, 1);
      case 7:
      case 8:
        return unit;
      case 9:
      case 10:
        return source_.pick(0, 2 * unit);
      case 11:
        return source_.pick(0, period);
      default:
        return 0;
    }
  }

  Source& source_;
};

}  // namespace penstock::quotas::testdata
