// A verdict: a store's answer to one charge. Durations count from the store's own clock at the
// moment of the check and are exact multiples of the quota's tick; headers round them up.
#pragma once

#include <cstdint>

#include <penstock/clock.hpp>

namespace penstock {

struct verdict {
  bool admitted = false;
  bool never = false;      // refused, and no wait helps: the cost is above what the quota can hold
  std::int64_t limit = 0;  // most units that could be admitted at once from an untouched state
  std::int64_t remaining = 0;  // units left after this request; never negative
  duration retry_after{};      // 0 when admitted or `never`; else least wait after which it passes.
                           // Admitted, but refused by another limit of the batch and charged all
                           // the same (count_denied): least wait after which this one admits it
  duration reset_after{};  // until the state is as if untouched; 0 when it is
  duration next_after{};   // least wait after which `remaining` grows; 0 when full
  duration delay{};        // admitted by a queue: hold the request for this long

  friend bool operator==(const verdict&, const verdict&) = default;
};

}  // namespace penstock
