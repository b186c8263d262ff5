// Sizes: plain bytes or with a binary unit, "8KiB", "64MiB".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "config/grammar/parsed.hpp"

namespace penstock::config {

// Bytes, 0 .. 2^53-1. Units B, KiB, MiB, GiB, TiB.
[[nodiscard]] parsed<std::int64_t> parse_size(std::string_view text);

// The shortest text that reads back as the same: "64MiB", "1500".
[[nodiscard]] std::string size_text(std::int64_t bytes);

}  // namespace penstock::config
