// Keys on the command line. Secrets do not belong there: an API key is given on standard input and
// only its SHA-256 leaves this process.
#pragma once

#include <string>
#include <string_view>

#include <penstock/result.hpp>

namespace penstock::cli {

// "address:203.0.113.9" as it is; "api_key#-" with the SHA-256 of standard input instead of '-'
// (one final end of line does not count). Errors: invalid_argument (nothing on standard input).
[[nodiscard]] result<std::string> key_of(const std::string& argument);

// The same without reading: what `key_of` makes of `secret`.
[[nodiscard]] std::string key_with_digest(std::string_view argument, std::string_view secret);

}  // namespace penstock::cli
