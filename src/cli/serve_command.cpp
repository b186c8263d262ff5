#include <cstdio>
#include <utility>

#include "cli/commands.hpp"
#include "cli/daemon.hpp"
#include "cli/serve_flags.hpp"
#include "cli/settings_source.hpp"

namespace penstock::cli {

int serve_command(const serve_flags& flags) {
  settings_source source(flags);
  auto first = source.load();
  if (!first) return exit_usage;
  auto daemon = daemon::open(std::move(*first), std::move(source), flags.file);
  if (!daemon) {
    std::fprintf(stderr, "penstock: %s\n", daemon.error().message.c_str());
    return daemon.error().code == errc::io ? exit_failure : exit_usage;
  }
  (*daemon)->run();
  return exit_fine;
}

}  // namespace penstock::cli
