// Where the settings of a daemon come from: a file, the files it names, environment and flags. Read
// at the start and again at every reload, in the same way.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/serve_flags.hpp"
#include "config/config.hpp"
#include "policy/policy.hpp"

namespace penstock::cli {

struct settings {
  config::config value;
  std::shared_ptr<const policy::compiled_policy> policy;
};

class settings_source {
 public:
  explicit settings_source(serve_flags flags) : flags_(std::move(flags)) {}

  // Reads everything. Problems and lints go to standard error; nothing when there was an error.
  [[nodiscard]] std::optional<settings> load();

  // The files that the last load() read or should have read, to be watched.
  [[nodiscard]] const std::vector<std::string>& files() const noexcept { return files_; }

  // What those files said, apart from the policy file's own text.
  [[nodiscard]] const policy::side_tables& tables() const noexcept { return tables_; }

 private:
  serve_flags flags_;
  policy::side_tables tables_;
  std::vector<std::string> files_;
};

// How files are read, and what relative names in a file are relative to.
[[nodiscard]] std::optional<std::string> read_file(const std::string& path);
[[nodiscard]] std::string folder_of(const std::string& file);

}  // namespace penstock::cli
