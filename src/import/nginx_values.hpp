// Values as nginx writes them. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::import {

// Decimal digits only, at most 10^12; nullopt otherwise.
[[nodiscard]] std::optional<std::int64_t> parse_number(std::string_view text);

// "10m", "64k", "8192": octets.
[[nodiscard]] std::optional<std::int64_t> parse_size(std::string_view text);

// An address or CIDR in its shortest spelling, bits behind the prefix cleared as nginx does;
// nullopt: a host name or nonsense.
[[nodiscard]] std::optional<std::string> parse_range(std::string_view text);

// "10.0.0.0-10.0.3.255" (IPv4) as the fewest CIDRs; empty: not such a range.
[[nodiscard]] std::vector<std::string> split_range(std::string_view text);

// Whether the CIDR or address `inner` lies in `outer`; both as parse_range gives them.
[[nodiscard]] bool lies_in(std::string_view inner, std::string_view outer);

// A text with variables: literal pieces and the names of variables, in order.
struct piece {
  bool variable = false;
  std::string text;
};
// "$a:${b}c". A '$' without a name is a literal.
[[nodiscard]] std::vector<piece> pieces_of(std::string_view text);

}  // namespace penstock::import
