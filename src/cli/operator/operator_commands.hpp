// The commands that talk to a running penstock: their place in the command line, and which of them
// was given. What each does is in ask_commands, change_commands and top_command.
#pragma once

#include <optional>

#include "cli/operator/operator_flags.hpp"

namespace CLI {
class App;
}

namespace penstock::cli {

class operator_commands {
 public:
  // Adds them to `app`, which must outlive this object; flags are read into this object, which must
  // not move.
  explicit operator_commands(CLI::App& app);
  operator_commands(const operator_commands&) = delete;
  operator_commands& operator=(const operator_commands&) = delete;

  // After parsing: runs the one that was given and returns its exit code; nullopt: none of them
  // was.
  [[nodiscard]] std::optional<int> run() const;

 private:
  CLI::App& app_;
  operator_flags flags_;
};

}  // namespace penstock::cli
