// What the contests of exactness/ are about: the limits that processes fight over, as Python wrote
// them, and the lines of a history. Shared by both kinds of contest. Not thread-safe.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <penstock/quota.hpp>

#include "quota/charge.hpp"
#include "store/store.hpp"

namespace penstock::redis_test {

struct contest_plan {
  std::deque<counter> limits;
  std::vector<std::string> keys;

  // Lines `limit ID KIND COUNT PERIOD_US BURST QUEUE UNDELAYED COUNT_DENIED`, BURST -1 for none,
  // and one line `keys N`. Throws when a line makes no sense.
  static contest_plan read(const std::string& path) {
    contest_plan plan;
    std::ifstream in(path);
    std::string line;
    while (std::getline(in, line)) {
      std::istringstream words(line);
      std::string what;
      words >> what;
      if (what == "keys") {
        int n = 0;
        words >> n;
        for (int i = 0; i < n; ++i) plan.keys.push_back("user:" + std::to_string(i));
        continue;
      }
      std::string id;
      std::string kind;
      std::int64_t period = 0;
      std::int64_t burst = -1;
      bool count_denied = false;
      quota q;
      words >> id >> kind >> q.count >> period >> burst >> q.queue >> q.undelayed >> count_denied;
      for (int i = 0; i <= static_cast<int>(algorithm::leaky_bucket); ++i) {
        if (to_string(static_cast<algorithm>(i)) == kind) q.kind = static_cast<algorithm>(i);
      }
      q.period = duration{period};
      if (burst >= 0) q.burst = burst;
      auto compiled = quotas::compile(q);
      if (!words || to_string(q.kind) != kind || !compiled) {
        throw std::runtime_error("not a line of a plan: " + line);
      }
      plan.limits.push_back({.id = id, .quota = *compiled, .count_denied = count_denied});
    }
    return plan;
  }
};

// One request of a contest: usually one unit of one limit; now and then several units, several
// limits at once, a question, or the refund of what was taken before.
struct contest_request {
  std::vector<charge> charges;
  std::vector<verdict> verdicts;
  std::size_t key = 0;
  store::intent why = store::intent::take;
  bool refunds = false;
  instant charged_at{};  // of a refund
};

class contest_requests {
 public:
  contest_requests(const contest_plan& plan, std::uint64_t seed) : plan_(plan), random_(seed) {}

  contest_request next() {
    contest_request r;
    if (below(40) == 0 && !refundable_.empty()) {
      r = refundable_.back();
      refundable_.pop_back();
      r.refunds = true;
      return r;
    }
    r.key = below(plan_.keys.size());
    const std::size_t count = below(8) == 0 ? 2 + below(2) : 1;
    const std::size_t first = below(plan_.limits.size());
    for (std::size_t i = 0; i < count; ++i) {
      const counter& what = plan_.limits[(first + i * 5) % plan_.limits.size()];
      if (i > 0 && &what == r.charges[0].what) break;
      r.charges.push_back({.what = &what,
                           .key = plan_.keys[r.key],
                           .cost = below(6) == 0 ? static_cast<std::int64_t>(below(4)) : 1,
                           .as = count > 1 && below(4) == 0 ? role::shadow : role::enforce,
                           .only_check = below(30) == 0});
    }
    r.verdicts.resize(r.charges.size());
    if (below(30) == 0) r.why = store::intent::peek;
    return r;
  }

  // Remembers a request that could be refunded: one charge, taken, of a limit without a burst
  // (which part of a burst comes back depends on more than the history tells).
  void answered(const contest_request& r, instant at) {
    const charge& c = r.charges[0];
    const bool plain =
        c.what->quota.source.kind == algorithm::token_bucket || c.what->quota.burst == 0;
    if (r.charges.size() > 1 || r.why == store::intent::peek || c.only_check || c.cost == 0 ||
        !r.verdicts[0].admitted || !plain || below(4) != 0) {
      return;
    }
    refundable_.push_back(r);
    refundable_.back().charged_at = at;
    if (refundable_.size() > 8) refundable_.pop_front();
  }

  std::size_t below(std::size_t n) { return static_cast<std::size_t>(random_() % n); }

 private:
  const contest_plan& plan_;
  std::mt19937_64 random_;
  std::deque<contest_request> refundable_;
};

// One line for each charge: process op begun_ns ended_ns order at_us kind key limit cost how
// charged_at admitted never remaining retry reset next delay. kind: take, peek, refund or failed.
// order: the store's; -1 where only the store knows it (a refund in Redis). how: 1 shadow,
// 2 only_check.
class history_writer {
 public:
  history_writer(const contest_plan& plan, const std::string& path, int process)
      : plan_(plan), out_(path), process_(process) {}

  void write(const contest_request& r, std::int64_t begun, std::int64_t ended, std::int64_t order,
             instant at, bool failed) {
    ++op_;
    for (std::size_t i = 0; i < r.charges.size(); ++i) {
      const charge& c = r.charges[i];
      const verdict v = r.refunds || failed ? verdict{} : r.verdicts[i];
      out_ << process_ << ' ' << op_ << ' ' << begun << ' ' << ended << ' ' << order << ' '
           << at.time_since_epoch().count() << ' '
           << (r.refunds                      ? "refund"
               : failed                       ? "failed"
               : r.why == store::intent::peek ? "peek"
                                              : "take")
           << ' ' << r.key << ' ' << index_of(*c.what) << ' ' << c.cost << ' '
           << (c.as == role::shadow ? 1 : 0) + (c.only_check ? 2 : 0) << ' '
           << r.charged_at.time_since_epoch().count() << ' ' << v.admitted << ' ' << v.never << ' '
           << v.remaining << ' ' << v.retry_after.count() << ' ' << v.reset_after.count() << ' '
           << v.next_after.count() << ' ' << v.delay.count() << '\n';
    }
  }

 private:
  std::size_t index_of(const counter& what) const {
    for (std::size_t i = 0; i < plan_.limits.size(); ++i) {
      if (&plan_.limits[i] == &what) return i;
    }
    return plan_.limits.size();
  }

  const contest_plan& plan_;
  std::ofstream out_;
  int process_;
  std::uint64_t op_ = 0;
};

inline std::int64_t monotonic_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

}  // namespace penstock::redis_test
