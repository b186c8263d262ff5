// The composition root: builds stores, policy, loops, services and faces from a configuration, runs
// them until a signal says stop. The only place that makes clocks and random secrets.
#pragma once

#include <memory>

#include <penstock/result.hpp>

#include "cli/settings_source.hpp"

namespace penstock::cli {

class daemon {
 public:
  // Opens everything; nothing is served yet. Errors: invalid_config, io, each a sentence that says
  // what to do. Blocks the signals that run() waits for in all threads of the process.
  // `source` is where reloads come from: on SIGHUP, and when one of its files has changed.
  static result<std::unique_ptr<daemon>> open(settings first, settings_source source,
                                              std::string policy_file);
  ~daemon();

  // Serves until SIGTERM or SIGINT, then finishes what is in flight; a second signal ends at once.
  void run();

 private:
  struct parts;
  explicit daemon(std::unique_ptr<parts> p);
  std::unique_ptr<parts> parts_;
};

}  // namespace penstock::cli
