#include "cli/settings_source.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <utility>

#include "config/issue.hpp"
#include "config/lint.hpp"
#include "config/load.hpp"
#include "config/overrides.hpp"
#include "config/side_files.hpp"

namespace penstock::cli {
namespace {

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

// Prints them; true when one is an error.
bool report(const std::vector<config::issue>& issues, const std::string& source) {
  std::fputs(config::format(issues, source).c_str(), stderr);
  return config::has_errors(issues);
}

}  // namespace

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(in), {}};
  return in.bad() ? std::nullopt : std::optional(std::move(text));
}

std::string folder_of(const std::string& file) {
  const auto slash = file.rfind('/');
  if (slash == std::string::npos) return {};
  return slash == 0 ? "/" : file.substr(0, slash);
}

std::optional<settings> settings_source::load() {
  files_.clear();
  config::load_result loaded;
  if (!flags_.file.empty()) {
    loaded = config::load_file(flags_.file);
    if (flags_.file != "-") files_.push_back(flags_.file);
    if (report(loaded.issues, loaded.source)) return std::nullopt;
  }
  for (const auto& [over, from] :
       {std::pair{config::overrides_from_environment(environment_variable),
                  config::override_source::environment},
        std::pair{flags_.over, config::override_source::flags}}) {
    if (report(config::apply_overrides(over, from, loaded.value), {})) return std::nullopt;
  }
  auto side = config::load_side_files(loaded.value.policy, folder_of(flags_.file), read_file);
  files_.insert(files_.end(), side.files.begin(), side.files.end());
  if (report(side.issues, {})) return std::nullopt;
  const auto watch = [this](const config::certificate_config& c) {
    files_.push_back(c.certificate);
    files_.push_back(c.key);
  };
  for (const auto* tls : {&loaded.value.gateway.tls, &loaded.value.decision.tls}) {
    if (!*tls) continue;
    watch((*tls)->first);
    for (const auto& one : (*tls)->sni) watch(one);
  }
  report(config::lint(loaded.value), loaded.source);

  tables_ = std::move(side.tables);
  auto policy = policy::compile(loaded.value.policy, tables_);
  if (!policy) {
    std::fprintf(stderr, "penstock: %s\n", policy.error().message.c_str());
    return std::nullopt;
  }
  return settings{std::move(loaded.value), std::move(*policy)};
}

}  // namespace penstock::cli
