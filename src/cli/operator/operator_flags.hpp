// What the operator commands were given. Texts as they stand on the command line; empty: not given.
#pragma once

#include <string>
#include <vector>

#include "cli/operator/admin_client.hpp"

namespace penstock::cli {

struct operator_flags {
  admin_flags admin;
  bool json = false;

  std::string key;
  std::string limit;
  std::string client;  // of inspect: whose refusals
  std::string lasts;   // "10min"
  std::string reason;
  std::vector<std::string> quota;  // its words
  bool lift = false;               // of override: end it

  bool once = false;
  std::string every = "2s";
  std::string by = "refusals";
  std::string window = "1m";
};

}  // namespace penstock::cli
