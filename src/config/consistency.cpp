#include "config/consistency.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "config/suggest.hpp"

namespace penstock::config {
namespace {

using policy::key_kind;

constexpr std::size_t most_methods = 63;  // one bit each, one bit for all others
constexpr std::size_t most_windows = 64;  // that a store decides in one step

class checker {
 public:
  checker(const config& c, std::vector<issue>& issues) : c_(c), issues_(issues) {}

  void run() {
    check_admin();
    for (std::size_t i = 0; i < c_.policy.limits.size(); ++i) check_limit(i);
    check_exempt();
    check_methods();
    check_windows();
  }

 private:
  void add(policy::place at, std::string path, std::string message, std::string hint) {
    issues_.push_back({.file = c_.file,
                       .at = at,
                       .path = std::move(path),
                       .message = std::move(message),
                       .hint = std::move(hint)});
  }

  void check_admin() {
    const auto& a = c_.admin;
    if (!a.listen || is_local(*a.listen) || !a.token.empty() || !a.token_sha256.empty()) return;
    add(c_.at.admin_listen, "admin.listen", "reachable from other machines without a token",
        "listen on 127.0.0.1, or add token_sha256");
  }

  [[nodiscard]] bool identity_known(key_kind kind) const {
    if (kind == key_kind::api_key) return c_.policy.identity.api_key.has_value();
    return !c_.policy.identity.user_header.empty();
  }

  void check_limit(std::size_t i) {
    const auto& limit = c_.policy.limits[i];
    const auto& at = c_.at.limit[i];
    constexpr std::string_view api_key_hint = "add identity: { api_key: { header: X-API-Key } }";
    constexpr std::string_view user_hint = "add identity: { user: { header: X-User-Id } }";
    if (uses(limit.key, key_kind::api_key) && !identity_known(key_kind::api_key)) {
      add(at.key, at.path + ".key", "nothing says where the API key stands",
          std::string(api_key_hint));
    }
    if (uses(limit.key, key_kind::user) && !identity_known(key_kind::user)) {
      add(at.key, at.path + ".key", "nothing says which header names the user",
          std::string(user_hint));
    }
    if (!limit.plan) return;
    if (!identity_known(limit.plan->by)) {
      const bool by_key = limit.plan->by == key_kind::api_key;
      add(at.whole, at.path + ".plan",
          fmt::format("no identity.{} to choose the plan by", by_key ? "api_key" : "user"),
          std::string(by_key ? api_key_hint : user_hint));
    }
    if (limit.plan->fallback.empty() || c_.policy.plans.contains(limit.plan->fallback)) return;
    std::vector<std::string_view> names;
    for (const auto& [name, rate] : c_.policy.plans) names.push_back(name);
    add(at.whole, at.path + ".plan.default",
        fmt::format("no plan {}", quoted(limit.plan->fallback)),
        names.empty() ? "add it under plans:" : suggest(limit.plan->fallback, names));
  }

  void check_exempt() {
    for (std::size_t i = 0; i < c_.policy.exempt.size(); ++i) {
      const auto& e = c_.policy.exempt[i];
      if (e.api_keys_sha256.empty() || c_.policy.identity.api_key) continue;
      add(e.at, fmt::format("exempt[{}].api_key_sha256", i),
          "nothing says where the API key stands",
          "add identity: { api_key: { header: X-API-Key } }");
    }
  }

  void check_methods() {
    std::set<std::string_view> methods;
    for (std::size_t i = 0; i < c_.policy.limits.size(); ++i) {
      methods.insert(c_.policy.limits[i].match.methods.begin(),
                     c_.policy.limits[i].match.methods.end());
      if (methods.size() <= most_methods) continue;
      add(c_.at.limit[i].match, c_.at.limit[i].path + ".match.method",
          fmt::format("more than {} different methods in one file", most_methods),
          "leave method out to match all");
      return;
    }
  }

  // Windows that a limit asks the store about, at most.
  [[nodiscard]] std::size_t windows_of(const policy::limit_spec& limit) const {
    if (!limit.plan) return limit.rate.quotas.size();
    std::size_t most = 0;
    for (const auto& [name, rate] : c_.policy.plans) most = std::max(most, rate.quotas.size());
    return most;
  }

  // Such a file would answer every request with 400. Limits that match some requests only are left
  // out: whether they ever meet is not known here.
  void check_windows() {
    std::size_t windows = 0;
    for (std::size_t i = 0; i < c_.policy.limits.size(); ++i) {
      const auto& limit = c_.policy.limits[i];
      const auto& match = limit.match;
      if (limit.mode == policy::limit_mode::off || !match.path.empty() || !match.hosts.empty() ||
          !match.methods.empty()) {
        continue;
      }
      windows += windows_of(limit);
      if (windows <= most_windows) continue;
      add(c_.at.limit[i].whole, c_.at.limit[i].path,
          fmt::format("more than {} windows match every request", most_windows),
          "add match, or put limits with the same key together: rates: [10/s, 100/min]");
      return;
    }
  }

  const config& c_;
  std::vector<issue>& issues_;
};

}  // namespace

bool uses(const policy::key_expression& key, key_kind kind) noexcept {
  return std::any_of(key.alternatives.begin(), key.alternatives.end(), [&](const auto& parts) {
    return std::any_of(parts.begin(), parts.end(), [&](const auto& p) { return p.kind == kind; });
  });
}

void check_consistency(const config& c, std::vector<issue>& issues) {
  checker(c, issues).run();
}

}  // namespace penstock::config
