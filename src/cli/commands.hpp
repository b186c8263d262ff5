// The commands of the binary. Each prints results on standard output, problems on standard error,
// and returns the process's exit code.
#pragma once

#include <string>
#include <vector>

namespace penstock::cli {

inline constexpr int exit_fine = 0;
inline constexpr int exit_failure = 1;  // at work: an address in use, an upstream file gone
inline constexpr int exit_usage = 2;    // usage or configuration

struct serve_flags;

int version_command();

// Runs until SIGTERM or SIGINT.
int serve_command(const serve_flags& flags);

// Validates and lints. exit_fine only when no file has an error.
int check_command(const std::vector<std::string>& files);

}  // namespace penstock::cli
