// The flags of `penstock serve`, as given.
#pragma once

#include <string>

#include "config/overrides.hpp"

namespace penstock::cli {

struct serve_flags {
  std::string file;  // empty: flags and environment alone
  config::overrides over;
};

}  // namespace penstock::cli
