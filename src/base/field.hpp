// One header field as views into a buffer that someone else owns. Shared by the HTTP parser, the
// policy and the faces, so that none of them needs the others' headers.
#pragma once

#include <span>
#include <string_view>

namespace penstock {

struct field {
  std::string_view name;   // as received; compare with iequals
  std::string_view value;  // without leading and trailing white space
};

using field_list = std::span<const field>;

}  // namespace penstock
