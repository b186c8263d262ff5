// Addresses and CIDR ranges: "10.0.0.0/8", "fd00::/8", "192.0.2.7".
#pragma once

#include <string>
#include <string_view>

#include "config/grammar/parsed.hpp"

namespace penstock::config {

// Returns the text as written. Bits behind the prefix are a problem ("10.0.0.1/8"): the range meant
// is not certain.
[[nodiscard]] parsed<std::string> parse_address_range(std::string_view text);

}  // namespace penstock::config
