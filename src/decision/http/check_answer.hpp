// What /v1/check tells of a decision, in JSON. Pure.
#pragma once

#include <string_view>

#include "net/json_writer.hpp"
#include "service/decider.hpp"

namespace penstock::decision {

// Appends the object for a decision that has been made.
void write_check_answer(net::json_writer& out, const service::exchange_context& x);

// The same for a question whose request target no server may accept. `reason`: a static sentence.
void write_check_bad_target(net::json_writer& out, std::string_view reason);

}  // namespace penstock::decision
