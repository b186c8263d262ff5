#include "config/lint.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "config/consistency.hpp"
#include "config/grammar/number.hpp"
#include "config/grammar/rate.hpp"

namespace penstock::config {
namespace {

using policy::key_kind;
using policy::limit_mode;
using policy::limit_spec;
using policy::missing_key;

bool always_there(const policy::key_part& p) {
  switch (p.kind) {
    case key_kind::api_key:
    case key_kind::user:
    case key_kind::header:
    case key_kind::query:
    case key_kind::cookie:
      return false;
    default:
      return true;
  }
}

bool always_there(const std::vector<policy::key_part>& parts) {
  return std::all_of(parts.begin(), parts.end(), [](const auto& p) { return always_there(p); });
}

bool everyone(std::string_view range) {
  return range.ends_with("/0");
}

class linter {
 public:
  explicit linter(const config& c) : c_(c) {}

  std::vector<issue> run() {
    check_listeners();
    check_client();
    check_secrets();
    check_exempt_and_block();
    check_fleet_size();
    check_plans();
    if (c_.policy.limits.empty()) {
      add(c_.at.limits, "limits", "no limits: every request passes",
          "add for example --limit 'address 10/s burst 20'");
    }
    for (std::size_t i = 0; i < c_.policy.limits.size(); ++i)
      check_limit(c_.policy.limits[i], c_.at.limit[i]);
    check_dominated();
    sort_by_place(issues_);
    return std::move(issues_);
  }

 private:
  void add(policy::place at, std::string path, std::string message, std::string hint) {
    issues_.push_back({.level = severity::warning,
                       .file = c_.file,
                       .at = at,
                       .path = std::move(path),
                       .message = std::move(message),
                       .hint = std::move(hint)});
  }

  void check_listeners() {
    const auto& g = c_.gateway;
    if (g.listen && g.upstreams.empty()) {
      add(c_.at.gateway, "gateway", "no upstream: the gateway does not start",
          "add upstream: \"http://HOST:PORT\"");
    }
    if (!g.listen && !g.upstreams.empty()) {
      add(c_.at.gateway, "gateway", "no listen address: the gateway does not start",
          "add listen: \":8080\"");
    }
    const auto& d = c_.decision;
    if (!(g.listen && !g.upstreams.empty()) && !d.http && !d.grpc && !d.redis) {
      add({}, {}, "nothing to serve: neither a gateway nor a decision listener",
          "add gateway: or decision:");
    }
  }

  // A decision listener on this machine answers for its peers, listed or not.
  [[nodiscard]] bool believes_somebody() const {
    const auto& d = c_.decision;
    return !c_.policy.client.trusted_proxies.empty() ||
           (d.http && d.believe_original != original_headers::never && is_local(*d.http));
  }

  void check_client() {
    const auto& trusted = c_.policy.client.trusted_proxies;
    for (const auto& range : trusted) {
      if (!everyone(range)) continue;
      add(c_.at.trusted_proxies, "client.trusted_proxies",
          fmt::format("{} trusts everyone: clients choose the address they count as", range),
          "list the addresses of your own proxies only");
    }
    if (believes_somebody()) return;
    const bool from_peer = c_.policy.client.address_from == policy::address_source::peer;
    if (c_.at.address_from.line > 0 && !from_peer) {
      add(c_.at.address_from, "client.address_from", "has no effect: no proxy is trusted",
          "add trusted_proxies");
    }
    if (!c_.policy.identity.user_header.empty()) {
      add(c_.at.identity, "identity.user", "is never believed: no proxy is trusted",
          "add client: { trusted_proxies: […] }");
    }
  }

  void check_secrets() {
    if (!c_.admin.token.empty()) {
      add(c_.at.admin_token, "admin.token", "a secret in clear",
          "use token_sha256: printf %s \"$TOKEN\" | sha256sum");
      issues_.back().secret = true;
    }
    if (c_.store.url && !c_.store.url->password.empty() && c_.at.store_url.line > 0) {
      add(c_.at.store_url, "store.url", "a secret in clear",
          "leave url out and set PENSTOCK_STORE in the environment");
      issues_.back().secret = true;
    }
  }

  void check_exempt_and_block() {
    for (std::size_t i = 0; i < c_.policy.exempt.size(); ++i) {
      const auto& e = c_.policy.exempt[i];
      const bool all =
          std::any_of(e.addresses.begin(), e.addresses.end(), everyone) || e.path == "/**";
      if (all)
        add(e.at, fmt::format("exempt[{}]", i), "exempts every request: no limit applies",
            "name a smaller range");
    }
    if (std::any_of(c_.policy.block.begin(), c_.policy.block.end(), everyone)) {
      add({}, "block", "blocks every client", "name a smaller range");
    }
  }

  void check_fleet_size() {
    if (!c_.store.url || c_.store.fleet_size_given) return;
    const bool local =
        std::any_of(c_.policy.limits.begin(), c_.policy.limits.end(), [&](const limit_spec& l) {
          return l.on_store_failure.value_or(c_.policy.on_store_failure) ==
                 policy::store_failure::local;
        });
    if (!local) return;
    add(c_.at.store, "store.fleet_size",
        "missing: without the store every instance grants the whole limit",
        "add fleet_size: the number of instances");
  }

  void check_plans() {
    const bool used = std::any_of(c_.policy.limits.begin(), c_.policy.limits.end(),
                                  [](const limit_spec& l) { return l.plan.has_value(); });
    if (c_.policy.plans.empty() || used) return;
    add({}, "plans", "no limit uses a plan", "add plan: { by: api_key, default: NAME } to a limit");
  }

  void check_limit(const limit_spec& l, const limit_places& at) {
    if (l.mode == limit_mode::off) return;
    check_key(l, at);
    if (!l.cost.header.empty() && !believes_somebody()) {
      add(at.whole, at.path + ".cost", "the header is never believed: no proxy is trusted",
          "add client: { trusted_proxies: […] }");
    }
    if (exempt_path(l.match.path)) {
      add(at.match, at.path + ".match", "never applies: the same path is exempt",
          "remove one of them");
    }
    if (l.plan) return;
    if (l.rate.unlimited)
      add(at.rate, at.path + ".rate", "never refuses: unlimited",
          "remove the limit, or say mode: off");
    for (const auto& q : l.rate.quotas) check_quota(q, at);
  }

  [[nodiscard]] bool exempt_path(const std::string& path) const {
    return !path.empty() && std::any_of(c_.policy.exempt.begin(), c_.policy.exempt.end(),
                                        [&](const auto& e) { return e.path == path; });
  }

  void check_key(const limit_spec& l, const limit_places& at) {
    const auto& alternatives = l.key.alternatives;
    for (std::size_t i = 0; i + 1 < alternatives.size(); ++i) {
      if (!always_there(alternatives[i])) continue;
      add(at.key, at.path + ".key",
          fmt::format("alternative {} is never reached: every request has the one before", i + 2),
          "put what every request has last");
      break;
    }
    const bool skips = l.on_missing_key == missing_key::skip && at.on_missing_key.line == 0;
    if (skips && std::none_of(alternatives.begin(), alternatives.end(),
                              [](const auto& a) { return always_there(a); })) {
      add(at.key, at.path + ".key", "requests without it are not limited",
          fmt::format("key: {} | address, or say on_missing_key", l.key.text));
    }
    if (!chosen_by_client(l.key) || limited_by_address(l)) return;
    add(at.key, at.path + ".key", "made-up values get fresh quotas",
        uses(l.key, key_kind::api_key) && !c_.policy.identity.api_key->known.empty()
            ? "add a limit with key: address"
            : "say which keys are known (identity.api_key.known), or add a limit with key: "
              "address");
  }

  // The client may write what it likes there.
  [[nodiscard]] bool chosen_by_client(const policy::key_expression& key) const {
    const bool any_api_key =
        c_.policy.identity.api_key && c_.policy.identity.api_key->known.empty();
    return (any_api_key && uses(key, key_kind::api_key)) || uses(key, key_kind::header) ||
           uses(key, key_kind::query) || uses(key, key_kind::cookie);
  }

  // Some other enforcing limit for at least the same requests that no made-up value escapes.
  [[nodiscard]] bool limited_by_address(const limit_spec& limit) const {
    return std::any_of(c_.policy.limits.begin(), c_.policy.limits.end(), [&](const limit_spec& l) {
      const auto& first = l.key.alternatives.front();
      const bool address = std::all_of(first.begin(), first.end(), [](const auto& p) {
        return p.kind == key_kind::address || p.kind == key_kind::global ||
               p.kind == key_kind::constant;
      });
      const bool everywhere = l.match.methods.empty() && l.match.hosts.empty() &&
                              (l.match.except.empty() || l.match.except == limit.match.except) &&
                              (l.match.path.empty() || l.match.path == limit.match.path);
      return address && everywhere && l.mode == limit_mode::enforce && !l.rate.unlimited;
    });
  }

  void check_quota(const quota& q, const limit_places& at) {
    // More than one unit in a second, so that two requests may well come at the same moment.
    const bool fast = q.count > 1 && q.count > q.period.count() / 1'000'000;
    const auto written = to_text(rate{.count = q.count, .period = q.period});
    if (q.burst == 0 && q.count > 0) {
      const bool bucket = q.kind == algorithm::token_bucket;
      add(at.burst, at.path + ".burst", bucket ? "0 admits nothing" : "0 is no burst",
          bucket ? "at least 1, or rate: 0 to deny all" : "leave it out");
    } else if (fast && q.kind == algorithm::token_bucket && q.burst.value_or(q.count) <= 1) {
      add(at.burst, at.path + ".burst",
          fmt::format("1 at {}: two requests at the same moment never both pass", written),
          "browsers send several at once: allow for it, for example burst: 5");
    } else if (fast && q.kind == algorithm::leaky_bucket && q.queue == 0) {
      add(at.rate, at.path + ".queue",
          fmt::format("0 at {}: two requests at the same moment never both pass", written),
          "add for example queue: 20");
    }
  }

  void check_dominated() {
    const auto& limits = c_.policy.limits;
    for (std::size_t i = 0; i < limits.size(); ++i) {
      if (limits[i].mode == limit_mode::off) continue;
      for (std::size_t k = 0; k < limits.size(); ++k) {
        // Of two equal ones the later is the superfluous one.
        if (k == i || !always_stricter(limits[k], limits[i])) continue;
        if (always_stricter(limits[i], limits[k]) && k > i) continue;
        add(c_.at.limit[i].whole, c_.at.limit[i].path,
            fmt::format("never bites: {} is always stricter", quoted(limits[k].name)),
            "remove it, or make it stricter");
        break;
      }
    }
  }

  const config& c_;
  std::vector<issue> issues_;
};

}  // namespace

std::vector<issue> lint(const config& c) {
  return linter(c).run();
}

}  // namespace penstock::config
