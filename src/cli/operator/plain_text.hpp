// Texts that others chose (keys, paths, names, reasons) on a terminal: whatever stands in them,
// they move no cursor, change no colour, hide nothing and read in no other direction. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace penstock::cli {

// Control and invisible characters as \x1b or \u{202e}, octets that are no UTF-8 as \xff, a
// backslash as two; the rest as it is.
[[nodiscard]] std::string plain_text(std::string_view text);

// A JSON text whose strings hold nothing invisible: such characters become \u escapes, which mean
// the same. Precondition: valid JSON.
[[nodiscard]] std::string plain_json(std::string_view json);

// How many characters a text in UTF-8 has. A terminal may show some of them two columns wide.
[[nodiscard]] std::size_t columns_of(std::string_view text) noexcept;

// At most `columns` characters of it; the last one is "…" when some are left out.
[[nodiscard]] std::string cut(std::string_view text, std::size_t columns);

}  // namespace penstock::cli
