// YAML text as a plain tree with a place at every node. The only file that knows the YAML library:
// its exceptions, anchors and tags stop here.
//
// Built from the library's events, not its node graph: events give the depth before it hurts, keep
// duplicate keys and tell "5" from 5.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/issue.hpp"
#include "policy/spec.hpp"

namespace penstock::config {

struct node {
  enum class type : std::uint8_t {
    null,
    scalar,
    sequence,
    map,
    refused
  };  // refused: reported already
  type what = type::null;
  std::string text{};    // scalar
  bool literal = false;  // the text stands in the file byte for byte from `at` on
  policy::place at{};
  std::vector<node> items{};                     // sequence
  std::vector<std::pair<node, node>> entries{};  // map: scalar key, value; first of each key
};

inline constexpr std::size_t largest_document = 4 << 20;
inline constexpr int deepest_document = 32;

// The one document in `text`. Appends what is wrong to `issues`: syntax, aliases, anchors, tags,
// duplicate keys, size above 4 MiB, depth above 32, not UTF-8. Absent when nothing can be read.
[[nodiscard]] std::optional<node> parse_document(const std::string& file, std::string_view text,
                                                 std::vector<issue>& issues);

}  // namespace penstock::config
