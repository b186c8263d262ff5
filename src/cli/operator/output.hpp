// How operator commands speak: results on standard output, problems on standard error.
#pragma once

#include <string>

#include <penstock/result.hpp>

namespace penstock::cli {

// "penstock: SENTENCE"; the command's exit code.
int say_failed(const error& e);

// Writes all of it; exit_fine, or exit_failure when standard output does not take it.
int print(const std::string& text);

}  // namespace penstock::cli
