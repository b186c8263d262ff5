// Small words: header names, methods, names of limits, SHA-256 in hex.
#pragma once

#include <string>
#include <string_view>

#include "config/grammar/parsed.hpp"

namespace penstock::config {

// RFC 9110 §5.6.2 token, at most 256 bytes.
[[nodiscard]] bool is_token(std::string_view text) noexcept;

[[nodiscard]] parsed<std::string> parse_header_name(std::string_view text);

// A method; a known one in the wrong case is a problem, since methods are case-sensitive.
[[nodiscard]] parsed<std::string> parse_method(std::string_view text);

// A limit's, plan's or key prefix's name: 1..64 of A-Z a-z 0-9 . _ -
[[nodiscard]] parsed<std::string> parse_name(std::string_view text);

// 64 hex digits; returned in lower case. The text may be a secret's image: messages do not repeat
// it.
[[nodiscard]] parsed<std::string> parse_sha256(std::string_view text);

// A host name in lower case, or "*." and one: what match.host accepts.
[[nodiscard]] parsed<std::string> parse_host_pattern(std::string_view text);

}  // namespace penstock::config
