#include "cli/import_command.hpp"

#include <cstdio>
#include <vector>

#include <glob.h>
#include <sys/stat.h>

#include "cli/commands.hpp"
#include "cli/settings_source.hpp"
#include "import/import_nginx.hpp"

namespace penstock::cli {
namespace {

// As nginx expands an include: glob(3), sorted.
std::vector<std::string> match_files(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> out;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    out.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return out;
}

// A folder or a device can be opened, but is no configuration.
std::optional<std::string> read_regular_file(const std::string& path) {
  struct stat about {};
  if (stat(path.c_str(), &about) != 0 || !S_ISREG(about.st_mode)) return std::nullopt;
  return read_file(path);
}

}  // namespace

import_commands::import_commands(CLI::App& app) {
  auto* import = app.add_subcommand("import", "a policy from another program's configuration");
  import->require_subcommand(1);
  nginx_ = import->add_subcommand("nginx", "limit_req and what it depends on");
  nginx_->add_option("FILE", file_, "nginx.conf")->required();
  nginx_->add_option("--prefix", prefix_, "folder of relative includes; default: FILE's")
      ->type_name("DIR");
  nginx_->add_flag("--decision", decision_, "nginx keeps serving and asks Penstock");
  nginx_->add_flag("--strict", strict_, "exit 3 when something is not carried over exactly");
  nginx_->footer("The policy goes to standard output; what differs is a comment at its line.");
}

std::optional<int> import_commands::run() const {
  if (!nginx_->parsed()) return std::nullopt;
  const import::nginx_files files{.read = read_regular_file, .match = match_files};
  const auto made = import::import_nginx(
      file_, files,
      {.prefix = prefix_, .face_for = decision_ ? import::face::decision : import::face::gateway});
  if (!made) {
    std::fprintf(stderr, "penstock: %s\n", made.error().message.c_str());
    return exit_usage;
  }
  std::fputs(made->text.c_str(), stdout);
  std::fprintf(
      stderr,
      "penstock: %zu limits; %zu differences and %zu lines left out, each a comment in the "
      "policy\n",
      made->limits, made->differs, made->left_out);
  return strict_ && made->differs + made->left_out > 0 ? exit_inexact : exit_fine;
}

}  // namespace penstock::cli
