#include "cli/needs_restart.hpp"

namespace penstock::cli {

std::vector<std::string> needs_restart(const config::config& now, const config::config& next) {
  std::vector<std::string> names;
  if (now.workers != next.workers) names.emplace_back("workers");
  if (now.store != next.store) names.emplace_back("store");
  if (now.policy.fleet_size != next.policy.fleet_size) names.emplace_back("store.fleet_size");
  if (now.gateway != next.gateway) names.emplace_back("gateway");
  if (now.decision != next.decision) names.emplace_back("decision");
  if (now.admin != next.admin) names.emplace_back("admin");
  if (now.health != next.health) names.emplace_back("health");
  return names;
}

}  // namespace penstock::cli
