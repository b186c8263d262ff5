#include <algorithm>
#include <set>

#include <penstock/quota.hpp>

#include "base/ascii.hpp"
#include "config/grammar/token.hpp"
#include "import/draft.hpp"
#include "import/quota_of.hpp"
#include "import/regions.hpp"

namespace penstock::import {
namespace {

constexpr std::size_t most_everywhere = 64;  // limits for every request, as the reader has it

// The names by which a match can tell a server's requests.
struct server_hosts {
  std::vector<std::string> names;
  bool others = false;     // requests for other hosts come here too, by a name or default_server
  bool unsayable = false;  // has names that a match cannot say
};

server_hosts hosts_of(const server& s) {
  server_hosts out;
  for (const auto& name : s.names) {
    if (name.empty() || name == "_" || name == "\"\"") {
      out.others = true;
      continue;
    }
    const bool both = name.starts_with('.');
    const auto host = config::parse_host_pattern(both ? name.substr(1) : name);
    if (!host) {
      out.unsayable = true;
      continue;
    }
    out.names.push_back(*host);
    if (both) out.names.push_back("*." + *host);
  }
  return out;
}

std::string slug(const path_shape& where) {
  std::string out;
  for (const char c : where.text()) {
    const bool plain = ascii::is_alnum(c) || c == '_' || c == '.';
    if (plain) out += c;
    if (!plain && !out.empty() && out.back() != '-') out += '-';
  }
  while (out.ends_with('-')) out.pop_back();
  return out.empty() ? "all" : out;
}

class limit_drafter {
 public:
  limit_drafter(const nginx_model& model, const std::vector<imported_key>& keys,
                policy_draft& draft)
      : model_(model), keys_(keys), draft_(draft) {}

  result<bool> run() {
    // Servers that only redirect or have files are none of ours.
    std::vector<std::vector<placed_limit>> placed;
    for (const auto& s : model_.servers) {
      if (s.answers_itself) continue;
      auto limits = place_limits(s, draft_.left_out);
      if (limits.empty() && !passes_on(s)) continue;
      servers_.push_back(&s);
      placed.push_back(std::move(limits));
    }
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      for (auto& one : placed[i]) take(i, std::move(one));
      if (made_.size() > most_limits) return too_many("more than 1000 limits");
    }
    for (auto& m : made_) finish(m);
    name_limits();
    note_shared_zones();
    set_exemptions();
    const auto everywhere =
        std::count_if(draft_.limits.begin(), draft_.limits.end(), [](const limit_draft& l) {
          return l.where.everything() && l.hosts.empty() && l.key->methods.empty();
        });
    if (static_cast<std::size_t>(everywhere) > most_everywhere)
      return too_many("more than 64 limits for every request");
    note_error_pages();
    return true;
  }

 private:
  struct made_limit {
    placed_limit placed;
    std::vector<std::size_t> servers;  // indices of servers_
  };

  static error too_many(const char* what) {
    return {errc::invalid_config, std::string(what) + ": import the sites one by one"};
  }

  // The same limit in several servers is one limit: they share nginx's zone.
  void take(std::size_t server, placed_limit placed) {
    const auto& key = keys_[placed.use->zone];
    if (!key.usable) {
      leave_out(*placed.use, key.why_not);
      return;
    }
    if (key.empty_without_name && key.per_server && !has_name(*servers_[server])) {
      leave_out(*placed.use,
                "the server has no name, so $server_name is empty and nginx never limits by it");
      return;
    }
    const auto id = placed.identity();
    for (auto& m : made_) {
      if (key.per_server || m.placed.identity() != id || !(m.placed.where == placed.where) ||
          m.placed.except != placed.except) {
        continue;
      }
      m.servers.push_back(server);
      return;
    }
    made_.push_back({std::move(placed), {server}});
  }

  // What $server_name is.
  static bool has_name(const server& s) { return !s.names.empty() && !s.names.front().empty(); }

  void leave_out(const limit_use& use, const std::string& why) {
    const bool said = std::any_of(draft_.left_out.begin(), draft_.left_out.end(),
                                  [&](const remark& r) { return r.at == use.at && r.why == why; });
    if (!said) draft_.left_out.push_back({remark_kind::left_out, use.at, use.text, why});
  }

  void finish(made_limit& m) {
    const auto& use = *m.placed.use;
    const auto& z = model_.zones[use.zone];
    const auto quota = quota_of(z, use);
    if (const auto ok = validate(quota); !ok) {
      leave_out(use, ok.error().message);
      return;
    }
    limit_draft l{.from = &z,
                  .use = &use,
                  .key = &keys_[use.zone],
                  .where = m.placed.where,
                  .except = m.placed.except,
                  .status = m.placed.status,
                  .dry_run = m.placed.dry_run,
                  .differs = m.placed.differs};
    l.on_missing_key = has_name(*servers_[m.servers.front()]) ? l.key->on_missing_key
                                                              : l.key->on_missing_without_name;
    for (const auto& why : l.key->differs) l.differs.push_back(why);
    if (const auto why = rate_difference(z); !why.empty()) l.differs.push_back(why);
    set_hosts(m, l);
    draft_.limits.push_back(std::move(l));
  }

  void set_hosts(const made_limit& m, limit_draft& l) const {
    if (m.servers.size() == servers_.size()) return;
    bool everyone = false;
    bool unsayable = false;
    bool implicit = false;
    for (const auto i : m.servers) {
      const auto hosts = hosts_of(*servers_[i]);
      for (const auto& name : hosts.names)
        if (std::find(l.hosts.begin(), l.hosts.end(), name) == l.hosts.end())
          l.hosts.push_back(name);
      everyone = everyone || hosts.others || hosts.names.empty() || servers_[i]->says_default;
      unsayable = unsayable || hosts.unsayable;
      implicit = implicit || servers_[i]->is_default;
    }
    if (everyone) {
      l.hosts.clear();
      l.differs.emplace_back(
          "also counts the requests of the other servers: a match cannot say \"any other "
          "host\" (add match: { host: [...] } to leave them out)");
    } else if (unsayable) {
      l.differs.emplace_back(
          "a server_name that is a regular expression or ends with * is not matched");
    } else if (implicit) {
      l.differs.emplace_back(
          "nginx also limits requests for hosts that no server names (default server); here "
          "they pass unless another limit matches (leave host out to count them)");
    }
  }

  void name_limits() {
    std::set<std::string> taken;
    for (auto& l : draft_.limits) {
      std::string base;
      for (const char c : l.from->name.substr(0, 40))
        base += ascii::is_alnum(c) || c == '.' || c == '_' || c == '-' ? c : '-';
      std::string name = base;
      if (taken.contains(name)) name = base = (base + "-" + slug(l.where)).substr(0, 60);
      for (int n = 2; taken.contains(name); ++n) name = base + "-" + std::to_string(n);
      taken.insert(name);
      l.name = std::move(name);
    }
  }

  void note_shared_zones() {
    for (auto& l : draft_.limits) {
      const auto same =
          std::count_if(draft_.limits.begin(), draft_.limits.end(),
                        [&](const limit_draft& other) { return other.from == l.from; });
      if (same < 2) continue;
      l.differs.push_back("nginx counts the " + std::to_string(same) + " limits of zone " +
                          shown(l.from->name) +
                          " together; here each has a counter of its own, so that a client "
                          "of several places is admitted more");
    }
    std::set<const zone*> used;
    for (const auto& l : draft_.limits)
      if (used.insert(l.from).second) draft_.zone_octets += l.from->size;
  }

  // `exempt` frees from every limit, so only what every limit frees may stand there.
  void set_exemptions() {
    if (draft_.limits.empty()) return;
    const auto everywhere = [&](const auto& free) {
      return std::all_of(draft_.limits.begin(), draft_.limits.end(),
                         [&](const limit_draft& l) { return free(*l.key); });
    };
    const auto has = [](const auto& list, const auto& one) {
      return std::find(list.begin(), list.end(), one) != list.end();
    };
    for (const auto& a : draft_.limits.front().key->exempt_addresses)
      if (everywhere([&](const imported_key& k) { return has(k.exempt_addresses, a); }))
        draft_.exempt_addresses.push_back(a);
    for (const auto& h : draft_.limits.front().key->exempt_headers)
      if (everywhere([&](const imported_key& k) { return has(k.exempt_headers, h); }))
        draft_.exempt_headers.push_back(h);
    for (auto& l : draft_.limits) {
      std::string free;
      for (const auto& a : l.key->exempt_addresses)
        if (!has(draft_.exempt_addresses, a)) free += (free.empty() ? "" : ", ") + a;
      for (const auto& h : l.key->exempt_headers)
        if (!has(draft_.exempt_headers, h))
          free += (free.empty() ? "a certain " : ", a certain ") + h.first;
      if (free.empty()) continue;
      l.differs.push_back("nginx does not limit " + shown(free) +
                          " here; Penstock's exempt would free from every limit, also from those "
                          "that nginx applies");
    }
  }

  void note_error_pages() {
    std::set<int> statuses;
    for (const auto& l : draft_.limits) statuses.insert(l.status);
    for (const auto& page : model_.error_pages) {
      const bool ours = std::any_of(page.codes.begin(), page.codes.end(),
                                    [&](int c) { return statuses.contains(c); });
      if (ours) {
        draft_.left_out.push_back({remark_kind::left_out, page.at, page.text,
                                   "refusals have Penstock's body; responses.text replaces it"});
      }
    }
  }

  const nginx_model& model_;
  const std::vector<imported_key>& keys_;
  policy_draft& draft_;
  std::vector<const server*> servers_;  // those that pass requests on
  std::vector<made_limit> made_;
};

}  // namespace

result<bool> draft_limits(const nginx_model& model, const std::vector<imported_key>& keys,
                          policy_draft& draft) {
  return limit_drafter(model, keys, draft).run();
}

}  // namespace penstock::import
