#include <cstdio>
#include <string>

#include "cli/commands.hpp"
#include "cli/settings_source.hpp"
#include "cli/stores.hpp"
#include "config/issue.hpp"
#include "config/lint.hpp"
#include "config/load.hpp"
#include "config/side_files.hpp"

namespace penstock::cli {

int check_command(const std::vector<std::string>& files) {
  int code = exit_fine;
  for (const auto& file : files) {
    auto loaded = config::load_file(file);
    for (auto& one : loaded.issues) one.file = file;
    if (loaded.ok()) {
      auto side = config::load_side_files(loaded.value.policy, folder_of(file), read_file);
      loaded.issues.insert(loaded.issues.end(), side.issues.begin(), side.issues.end());
      auto lints = config::lint(loaded.value);
      loaded.issues.insert(loaded.issues.end(), lints.begin(), lints.end());
      if (const auto& shared = loaded.value.store.url) {
        if (const auto url = redis_url_of(*shared); !url) {
          loaded.issues.push_back({.file = file,
                                   .path = "store.url",
                                   .message = url.error().message,
                                   .hint = "ca, cert, key, verify and server_name are for "
                                           "rediss://, sentinel_* for redis+sentinel://"});
        }
      }
      config::sort_by_place(loaded.issues);
    }
    std::fputs(config::format(loaded.issues, loaded.source).c_str(), stderr);
    std::size_t errors = 0;
    for (const auto& one : loaded.issues) errors += one.level == config::severity::error ? 1U : 0U;
    const std::size_t warnings = loaded.issues.size() - errors;
    if (errors > 0) code = exit_usage;
    std::printf("%s: %s (%zu limits, %zu errors, %zu warnings)\n", file.c_str(),
                errors > 0 ? "not usable" : "fine", loaded.value.policy.limits.size(), errors,
                warnings);
  }
  return code;
}

}  // namespace penstock::cli
