// Path patterns: "/login", "/users/{id}/export", "/api/**", "/a/*/b".
#pragma once

#include <string>
#include <string_view>

#include "config/grammar/parsed.hpp"

namespace penstock::config {

// Judges the syntax and returns the pattern as written: '/' first, segments of literal text, "*" or
// "{name}" (exactly one segment), "**" (any number of segments, also none).
[[nodiscard]] parsed<std::string> parse_path_pattern(std::string_view text);

}  // namespace penstock::config
