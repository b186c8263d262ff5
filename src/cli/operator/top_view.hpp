// The picture of `penstock top`: from two moments of the admin API to lines that fit a screen.
// Pure: no terminal and no clock.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/operator/answers.hpp"

namespace penstock::cli {

// One moment.
struct top_frame {
  object status, limits, offenders, refusals;
  object history;  // of the first moment only: the rates of the last five seconds
};

struct top_options {
  std::size_t rows = 0;     // lines of the screen; 0: as many as there are
  std::size_t columns = 0;  // 0: as wide as they are
  std::string at;           // where the daemon is
  std::string by = "refusals";
  std::string window = "1m";
};

// Rates are between `before` and `now`, or from the history when there is no `before` or the daemon
// was started anew. At most `rows` lines.
[[nodiscard]] std::vector<std::string> top_lines(const top_frame& now, const top_frame* before,
                                                 const top_options& options);

}  // namespace penstock::cli
