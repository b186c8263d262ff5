// Key expressions: what a limit counts by.
//   api_key | user | address     the first that the request has
//   user + route                 together
//   header(X-API-Key)  query(q)  cookie(c)  constant(x)  global  method  host  route  address
// '+' binds tighter than '|'.
#pragma once

#include <string_view>

#include "config/grammar/parsed.hpp"
#include "policy/spec.hpp"

namespace penstock::config {

// At most 8 alternatives of at most 8 parts.
[[nodiscard]] parsed<policy::key_expression> parse_key(std::string_view text);

}  // namespace penstock::config
