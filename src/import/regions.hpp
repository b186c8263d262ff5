// Which requests of a server an nginx limit is for. nginx picks one location for each request, a
// Penstock policy applies every limit that matches; so each limit gets a path and the paths below
// it that another location takes away. Private to this folder. Pure.
#pragma once

#include <string>
#include <vector>

#include "import/nginx_model.hpp"
#include "import/paths.hpp"

namespace penstock::import {

// One limit_req for one part of the paths.
struct placed_limit {
  const limit_use* use = nullptr;
  int status = 503;
  bool dry_run = false;
  path_shape where;
  std::vector<path_shape> except;
  std::vector<std::string> differs;

  // Equal for uses that are the same limit: zone, numbers and consequences.
  [[nodiscard]] std::string identity() const;
};

// In the order of the file. `server` has to outlive the result. What cannot be placed is added to
// `remarks`.
[[nodiscard]] std::vector<placed_limit> place_limits(const server& of,
                                                     std::vector<remark>& remarks);

}  // namespace penstock::import
