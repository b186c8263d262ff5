// `penstock explain`: one request through a policy on an empty store, step by step.
#pragma once

#include <string>
#include <vector>

namespace penstock::cli {

struct explain_flags {
  std::string file;
  std::string method = "GET";
  std::string path = "/";
  std::string peer = "127.0.0.1";
  std::vector<std::string> fields;  // "Name: value"
};

// exit_fine whatever the decision; exit_usage for a policy or a request that cannot be read.
int explain_command(const explain_flags& flags);

}  // namespace penstock::cli
