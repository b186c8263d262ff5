// The files that a policy names beside itself: known API keys, and which key or user has which
// plan. They are read with the policy and watched like it, so that keys can be handed out without a
// restart.
//
//   known keys: one a line, in clear or as sha256:HEX; blank lines and lines with # are skipped
//   plans:      WHO,PLAN a line; WHO is an API key, its sha256:HEX, or a user
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/issue.hpp"
#include "policy/policy.hpp"

namespace penstock::config {

struct side_files {
  policy::side_tables tables;
  std::vector<issue> issues;       // a key in clear is never repeated in one
  std::vector<std::string> files;  // all that were read or should have been, to be watched
};

// `folder`: what relative names are relative to, empty for the working directory. `read` returns a
// file's content, nothing when it cannot be read.
[[nodiscard]] side_files load_side_files(
    const policy::policy_spec& spec, const std::string& folder,
    const std::function<std::optional<std::string>(const std::string& path)>& read);

}  // namespace penstock::config
