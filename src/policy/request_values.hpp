// Named values of a request: header fields, query parameters, cookies. Reports when a name stands
// there twice, because then the limiter and the upstream could each pick another one. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/field.hpp"

namespace penstock::policy {

enum class occurs : std::uint8_t { absent, once, repeatedly };

// `value` views the request or the caller's scratch text; it may be empty, which callers take for
// absent: an empty name is nobody's.
struct found_value {
  occurs how = occurs::absent;
  std::string_view value;
};

// Names compare without case.
[[nodiscard]] found_value find_field(field_list fields, std::string_view name) noexcept;

// Names and values are percent-decoded ('+' is a space; broken escapes stand as they are), into
// `scratch`, which must live as long as the result.
[[nodiscard]] found_value find_query(std::string_view query, std::string_view name,
                                     std::string& scratch);

// Over all Cookie fields; names compare exactly, one pair of quotes around the value is dropped.
[[nodiscard]] found_value find_cookie(field_list fields, std::string_view name) noexcept;

// Writes the host as it is compared: lower case, without port and final dots; IPv6 addresses in
// brackets and in their one spelling, so that a client cannot make several hosts of one.
void append_host(std::string& out, std::string_view authority);

}  // namespace penstock::policy
