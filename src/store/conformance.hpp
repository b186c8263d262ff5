// The rows that every store answers alike, as data: one table for the pure functions, the plain
// store, the memory store and Redis. A row that differs on one of them is a fault of that store.
//
// Times of steps count from an origin that the runner chooses, a multiple of 60 s; a store with a
// clock of its own is told the time through `tested_store::at`. Test code only.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/clock.hpp>
#include <penstock/quota.hpp>

#include "quota/charge.hpp"
#include "store/store.hpp"

namespace penstock::store::conformance {

struct limit {
  std::string
      id;  // limits with equal ids share their counters, as a limit before and after a reload
  quota q;
  bool count_denied = false;
};

struct charge_row {
  std::size_t limit;  // index into scenario::limits
  std::string key;
  std::int64_t cost = 1;
  role as = role::enforce;
  bool only_check = false;
};

// Waits in microseconds. next_after is compared between stores, not in these rows.
struct want {
  bool admitted;
  std::int64_t remaining;
  std::int64_t retry_us = 0;  // never: no wait helps
  std::int64_t reset_us = 0;
  std::int64_t delay_us = 0;
  static constexpr std::int64_t never = -1;
};

enum class op : std::uint8_t { take, peek, record, refund, reset };

struct step {
  std::int64_t at_us;
  op what = op::take;
  std::vector<charge_row> charges;
  std::vector<want> wants;         // take and peek: one per charge
  std::int64_t charged_at_us = 0;  // refund only
};

struct scenario {
  std::string name;
  std::vector<limit> limits;
  std::vector<step> steps;
};

// Every row of the algorithms' definition on one key, and the rules about several charges.
[[nodiscard]] std::vector<scenario> scenarios();

struct tested_store {
  store& under_test;
  std::function<void(instant)> at = [](instant) {};    // before each step: it is now this late
  std::function<void(batch&)> finish = [](batch&) {};  // waits until a pending batch is done
};

// Plays a scenario. `key_prefix` keeps runs on one store apart. Returns one line for each answer
// that is not as wanted; empty when the store conforms.
[[nodiscard]] std::vector<std::string> play(const scenario& s, const tested_store& t,
                                            instant origin, std::string_view key_prefix);

}  // namespace penstock::store::conformance
