// Parameters of a URL's query. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace penstock::admin {

// The decoded value of the first parameter `name`; nullopt when there is none or its escapes are
// broken. '+' is a space.
[[nodiscard]] std::optional<std::string> query_value(std::string_view query, std::string_view name);

}  // namespace penstock::admin
