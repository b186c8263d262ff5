// `penstock import nginx`: a policy on standard output from the configuration of another program,
// with what is not the same as comments.
#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

namespace penstock::cli {

// With --strict: a policy was printed, but something is not carried over exactly.
inline constexpr int exit_inexact = 3;

// Declares the command in an application; that has to outlive it.
class import_commands {
 public:
  explicit import_commands(CLI::App& app);
  import_commands(const import_commands&) = delete;
  import_commands& operator=(const import_commands&) = delete;

  // The exit code when this command was given: exit_fine when a policy was printed, exit_usage when
  // the file cannot be read or used.
  [[nodiscard]] std::optional<int> run() const;

 private:
  CLI::App* nginx_;
  std::string file_;
  std::string prefix_;     // folder of relative includes; empty: the file's
  bool decision_ = false;  // nginx keeps serving and asks
  bool strict_ = false;
};

}  // namespace penstock::cli
