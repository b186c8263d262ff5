#include <cstdio>

#include "cli/commands.hpp"

namespace penstock::cli {

int version_command() {
  std::puts("penstock " PENSTOCK_VERSION);
  return exit_fine;
}

}  // namespace penstock::cli
