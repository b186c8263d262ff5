// One limit on one line: 'KEY RATE [burst N | queue N] [ALGORITHM]', for --limit and
// PENSTOCK_LIMIT.
//   address 10/s burst 20
//   header(X-API-Key) 100/min sliding_window_counter
//   user + route 3/h
#pragma once

#include <string_view>
#include <vector>

#include "config/grammar/parsed.hpp"
#include "policy/spec.hpp"

namespace penstock::config {

// The name is made from key and rate ("address-10-s"); make_unique_name settles repetitions.
// A problem's offset counts in `text`.
[[nodiscard]] parsed<policy::limit_spec> parse_limit_flag(std::string_view text);

// Appends "-2", "-3", … to the name while another limit has it.
void make_unique_name(policy::limit_spec& limit, const std::vector<policy::limit_spec>& others);

}  // namespace penstock::config
