// A problem in a configuration, and how it is shown to the person who has to mend it. Messages
// never contain a secret; the source line is shown with secrets masked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "policy/spec.hpp"

namespace penstock::config {

enum class severity : std::uint8_t { error, warning };

struct issue {
  severity level = severity::error;
  std::string file{};     // as given; a flag's name for flags
  policy::place at{};     // 1-based, columns in bytes; line 0: no place
  std::string path{};     // "limits[2].rate"; empty: the file as a whole
  std::string message{};  // what is wrong, in one clause
  std::string hint{};     // what to do; empty: nothing to add
  // The text that `at.column` counts in when it is no file: a flag\'s. Empty: the source is meant.
  std::string excerpt{};
  bool secret = false;  // what the caret points at must not be shown
};

[[nodiscard]] bool has_errors(const std::vector<issue>& issues) noexcept;

// By place, stable: issues of one place keep their order.
void sort_by_place(std::vector<issue>& issues);

// "file:line:column: path: message", the source line, a caret and the hint, each line ended by
// '\n'. `source` is the whole text the issue's places refer to; empty: the line and the caret are
// left out.
[[nodiscard]] std::string format(const issue& i, std::string_view source);

// All of them, one after the other.
[[nodiscard]] std::string format(const std::vector<issue>& issues, std::string_view source);

}  // namespace penstock::config
