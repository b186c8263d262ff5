#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

#include "cli/commands.hpp"
#include "cli/daemon.hpp"
#include "cli/serve_flags.hpp"
#include "config/issue.hpp"
#include "config/lint.hpp"
#include "config/load.hpp"
#include "config/overrides.hpp"

namespace penstock::cli {
namespace {

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

void report(const std::vector<config::issue>& issues, const std::string& source) {
  std::fputs(config::format(issues, source).c_str(), stderr);
}

}  // namespace

int serve_command(const serve_flags& flags) {
  config::load_result loaded;
  if (!flags.file.empty()) {
    loaded = config::load_file(flags.file);
    report(loaded.issues, loaded.source);
    if (!loaded.ok()) return exit_usage;
  }
  for (const auto& [over, from] :
       {std::pair{config::overrides_from_environment(environment_variable),
                  config::override_source::environment},
        std::pair{flags.over, config::override_source::flags}}) {
    const auto issues = config::apply_overrides(over, from, loaded.value);
    report(issues, {});
    if (config::has_errors(issues)) return exit_usage;
  }
  report(config::lint(loaded.value), loaded.source);

  auto daemon = daemon::open(std::move(loaded.value));
  if (!daemon) {
    std::fprintf(stderr, "penstock: %s\n", daemon.error().message.c_str());
    return daemon.error().code == errc::io ? exit_failure : exit_usage;
  }
  (*daemon)->run();
  return exit_fine;
}

}  // namespace penstock::cli
