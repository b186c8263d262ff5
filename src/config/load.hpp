// A configuration file into a config, with everything that is wrong with it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/config.hpp"
#include "config/issue.hpp"

namespace penstock::config {

struct load_result {
  config value;               // usable only when ok()
  std::vector<issue> issues;  // errors, in line order; lints are lint.hpp's
  std::string source;         // the text, for format()

  [[nodiscard]] bool ok() const noexcept { return !has_errors(issues); }
};

// `name` is what messages call the text.
[[nodiscard]] load_result load_text(std::string name, std::string_view text);

// Reads the file once. A file that cannot be read is an issue like any other. "-" is standard
// input.
[[nodiscard]] load_result load_file(const std::string& path);

}  // namespace penstock::config
