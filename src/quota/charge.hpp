// What policy asks of a store and a store answers: charges against counters. Lives beside the
// quotas because policy and stores both speak it and neither includes the other.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "quota/compiled.hpp"

namespace penstock {

// What a charge counts against, apart from its key. `id` is unique per (limit name, algorithm,
// period): equal ids share counters across reloads and across plans of one limit, whatever the
// rates. Immutable; must outlive every batch that names it.
struct counter {
  std::string id;
  quotas::compiled quota;
  bool count_denied = false;  // also charged, up to its capacity, when the request is refused
};

enum class role : std::uint8_t { enforce, shadow };

struct charge {
  const counter* what = nullptr;
  std::string_view key;   // encoded by policy; borrowed until the batch is done
  std::int64_t cost = 1;  // >= 0; 0 reports only
  role as = role::enforce;
  // Decides as if `cost` were taken but takes nothing: for limits that count failed responses.
  bool only_check = false;
};

}  // namespace penstock
