#include "cli/operator/output.hpp"

#include <cstdio>

#include "cli/commands.hpp"
#include "cli/operator/admin_client.hpp"

namespace penstock::cli {

int say_failed(const error& e) {
  std::fprintf(stderr, "penstock: %s\n", e.message.c_str());
  return exit_code_of(e);
}

int print(const std::string& text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  return written ? exit_fine : exit_failure;
}

}  // namespace penstock::cli
