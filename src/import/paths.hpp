// Locations of nginx as path patterns of Penstock: whole segments, `*` for one, `**` at the end for
// any number. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::import {

struct path_shape {
  std::vector<std::string> segments;  // literal (percent-encoded) or "*"
  bool below = false;                 // ends with "**"

  [[nodiscard]] std::string text() const;
  [[nodiscard]] bool everything() const { return below && segments.empty(); }
  friend bool operator==(const path_shape&, const path_shape&) = default;
};

// Every path of `inner` is one of `outer`.
[[nodiscard]] bool covers(const path_shape& outer, const path_shape& inner);

// Some path is one of both.
[[nodiscard]] bool meet(const path_shape& a, const path_shape& b);

struct translated {
  std::vector<path_shape> shapes;  // empty: no pattern can say it
  std::string differs;             // not empty: they are not exactly the same paths
};

// `location = PATH` (whole) or `location PATH`. The path is as nginx compares it: decoded.
[[nodiscard]] translated translate_path(std::string_view path, bool whole);

// `location ~ REGEX`: alternatives in groups, one-segment wildcards, ^ in front; nothing that needs
// a real regular expression.
[[nodiscard]] translated translate_regex(std::string_view regex, bool any_case);

}  // namespace penstock::import
