// POST /v1/check for programs: describes requests in JSON and tells what each limit says of them.
// Never waits: what a queue would delay is told as delay_ms. docs/openapi.yaml is the reference.
#pragma once

#include <string_view>

namespace penstock::decision {

class conversation;

inline constexpr std::string_view check_path = "/v1/check";

// Takes up the exchange of `c`, which ends in its answer.
void begin_check(conversation& c);

}  // namespace penstock::decision
