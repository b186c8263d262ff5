// `plans:` and `limits:`.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "config/grammar/ban.hpp"
#include "config/grammar/duration.hpp"
#include "config/grammar/key.hpp"
#include "config/grammar/number.hpp"
#include "config/grammar/path_pattern.hpp"
#include "config/grammar/token.hpp"
#include "config/sections/sections.hpp"

namespace penstock::config {
namespace {

using policy::limit_mode;
using policy::limit_spec;
using policy::missing_key;
using policy::store_failure;

struct limit_draft {
  limit_spec spec;
  limit_places at;
  bool show = false;
  bool counts_failures = false;
};

const field<policy::match_spec> match_table[] = {
    {{"method", "method or list", "every method", "In capitals, as in a request."},
     [](const value& v, policy::match_spec& m) {
       read_one_or_more(v, "a method or a list of methods", [&](const value& item) {
         std::string method;
         if (read_with(item, parse_method, "a method", method)) m.methods.push_back(method);
       });
     }},
    {{"host", "host or list", "every host",
      "`*.example.com` matches one or more labels. Without the port."},
     [](const value& v, policy::match_spec& m) {
       read_one_or_more(v, "a host or a list of hosts", [&](const value& item) {
         std::string host;
         if (read_with(item, parse_host_pattern, "a host", host)) m.hosts.push_back(host);
       });
     }},
    {{"path", "path pattern", "every path",
      "`/login`, `/users/{id}/export`, `/a/*/b`, `/api/**` (which includes `/api`)."},
     [](const value& v, policy::match_spec& m) {
       read_with(v, parse_path_pattern, "a path pattern", m.path);
     }},
    {{"except", "path pattern or list", "none",
      "Paths that the limit is not for although `path` matches them."},
     [](const value& v, policy::match_spec& m) {
       read_one_or_more(v, "a path pattern or a list of path patterns", [&](const value& item) {
         std::string path;
         if (read_with(item, parse_path_pattern, "a path pattern", path)) m.except.push_back(path);
       });
     }},
};

constexpr word<policy::key_kind> plan_words[] = {{"api_key", policy::key_kind::api_key},
                                                 {"user", policy::key_kind::user}};

const field<policy::plan_reference> plan_table[] = {
    {{"by", "one of api_key, user", "api_key", "What chooses the plan."},
     [](const value& v, policy::plan_reference& p) { read_word(v, plan_words, p.by); }},
    {{"from", "file", "none",
      "CSV file `key,plan` that is watched. None: the file of known keys names the plans."},
     [](const value& v, policy::plan_reference& p) { read_string(v, p.from); }},
    {{"default", "name", required,
      "Plan of keys that the file does not name, for example `default: free`."},
     [](const value& v, policy::plan_reference& p) {
       read_with(v, parse_name, "a plan's name", p.fallback);
     }},
};

const field<policy::cost_spec> cost_table[] = {
    {{"header", "header name", required,
      "Field that says the cost, for example `header: X-Cost`. Believed only from a trusted peer."},
     [](const value& v, policy::cost_spec& c) {
       read_with(v, parse_header_name, "a header name", c.header);
     }},
};

const field<policy::ban_spec> ban_table[] = {
    {{"after", "N refusals in DURATION", required,
      "How many refusals in which time, for example `after: 20 refusals in 1min`."},
     [](const value& v, policy::ban_spec& b) {
       ban_trigger t;
       if (!read_with(v, parse_ban_trigger, "N refusals in DURATION", t)) return;
       b.after = t.refusals;
       b.within = t.within;
     }},
    {{"for", "duration", required, "How long the key is then refused, for example `for: 15min`."},
     [](const value& v, policy::ban_spec& b) {
       read_duration(v, std::chrono::seconds{1}, std::chrono::days{400}, b.lasts);
     }},
};

constexpr word<limit_mode> mode_words[] = {
    {"enforce", limit_mode::enforce}, {"shadow", limit_mode::shadow}, {"off", limit_mode::off}};
constexpr word<missing_key> missing_words[] = {{"skip", missing_key::skip},
                                               {"address", missing_key::address},
                                               {"shared", missing_key::shared},
                                               {"deny", missing_key::deny}};
constexpr word<store_failure> failure_words[] = {{"allow", store_failure::allow},
                                                 {"deny", store_failure::deny},
                                                 {"local", store_failure::local}};
constexpr word<bool> count_words[] = {{"requests", false}, {"failures", true}};

void read_ban(const value& v, limit_draft& l) {
  policy::ban_spec b;
  if (!read_map(v, ban_table, b) || b.after == 0) return;
  l.spec.ban = b;
  // Refusals are counted like requests, so the same numbers can be kept exactly.
  const quota q{.kind = algorithm::sliding_window_counter, .count = b.after, .period = b.within};
  if (const auto ok = validate(q); !ok) v.find("after")->fail(ok.error().message);
}

const field<limit_draft> limit_table[] = {
    {{"name", "name", required,
      "A word for metrics and headers, for example `name: login`. Counters belong to it: keep it "
      "when the rate changes."},
     [](const value& v, limit_draft& l) { read_with(v, parse_name, "a name", l.spec.name); }},
    {{"match", "map", "every request", "Which requests the limit is for."},
     [](const value& v, limit_draft& l) {
       l.at.match = v.at();
       read_map(v, match_table, l.spec.match);
     }},
    {{"key", "key expression", required,
      "What is counted, for example `key: address`: `address`, `api_key`, `user`, `route`, "
      "`method`, `host`, `global`, "
      "`header(N)`, `query(N)`, "
      "`cookie(N)`, `constant(X)`; `a + b` together, `a | b` the first that the request has."},
     [](const value& v, limit_draft& l) {
       l.at.key = v.at();
       read_with(v, parse_key, "a key expression", l.spec.key);
     }},
    {{"show", "true or false", "false",
      "Store and show values of header, query and cookie keys as they are, not as SHA-256."},
     [](const value& v, limit_draft& l) { read_bool(v, l.show); }},
    {{"plan", "map", "none", "Quota by plan instead of `rate`."},
     [](const value& v, limit_draft& l) {
       policy::plan_reference p;
       if (read_map(v, plan_table, p)) l.spec.plan = p;
     }},
    {{"mode", "one of enforce, shadow, off", "enforce",
      "`shadow` reports what it would refuse and refuses nothing."},
     [](const value& v, limit_draft& l) { read_word(v, mode_words, l.spec.mode); }},
    {{"on_missing_key", "one of skip, address, shared, deny", "skip",
      "What a request without the key is counted by."},
     [](const value& v, limit_draft& l) {
       l.at.on_missing_key = v.at();
       read_word(v, missing_words, l.spec.on_missing_key);
     }},
    {{"on_store_failure", "one of allow, deny, local", "store.on_store_failure",
      "What happens while the store does not answer."},
     [](const value& v, limit_draft& l) {
       store_failure f{};
       read_word(v, failure_words, f);
       l.spec.on_store_failure = f;
     }},
    {{"count_denied", "true or false", "false",
      "Charge refused requests too, up to the limit: for logins."},
     [](const value& v, limit_draft& l) { read_bool(v, l.spec.count_denied); }},
    {{"shared_route", "true or false", "false",
      "A `route` key counts all paths of this limit's match together."},
     [](const value& v, limit_draft& l) { read_bool(v, l.spec.shared_route); }},
    {{"count", "one of requests, failures", "requests",
      "`failures`: only requests answered with one of `statuses` are charged."},
     [](const value& v, limit_draft& l) { read_word(v, count_words, l.counts_failures); }},
    {{"statuses", "list of statuses", "[401, 403]", "What is a failure for `count: failures`."},
     [](const value& v, limit_draft& l) {
       read_one_or_more(v, "a list of statuses", [&](const value& item) {
         int status = 0;
         read_integer(item, 100, 599, status);
         if (status > 0) l.spec.count_statuses.push_back(status);
       });
     }},
    {{"cost", "whole number or map", "1",
      "Units that a request takes: a number, or `{ header: NAME }`."},
     [](const value& v, limit_draft& l) {
       if (v.raw().what == node::type::map) {
         read_map(v, cost_table, l.spec.cost);
       } else {
         read_integer(v, 1, largest_count, l.spec.cost.constant);
       }
     }},
    {{"ban", "map", "none", "Refuse a key that is refused too often for a while."},
     [](const value& v, limit_draft& l) { read_ban(v, l); }},
    {{"response", "map", "responses",
      "What this limit's refusals look like; keys as in `responses`."},
     [](const value& v, limit_draft& l) {
       policy::response_spec r;
       std::vector<bound_field> fields;
       bind(fields, refusal_table(), r);
       if (read_map(v, fields)) l.spec.response = r;
     }},
    {{"retry_jitter", "duration", "0",
      "Up to this much is added to Retry-After, so that clients do not return together."},
     [](const value& v, limit_draft& l) {
       read_duration(v, duration{0}, std::chrono::hours{1}, l.spec.retry_jitter);
     }},
};

void finish_limit(const value& v, limit_draft& l, const quota_draft& q) {
  if (l.spec.plan) {
    for (const auto* given : {&q.rate, &q.rates, &q.algorithm, &q.burst, &q.burst_window, &q.queue,
                              &q.undelayed, &q.max_delay, &q.max_entries}) {
      if (*given) (*given)->fail("the plan says the quota", "write it in plans, or leave plan out");
    }
  } else {
    finish_quota(v, q, l.spec.rate);
  }
  const auto statuses = v.find("statuses");
  if (statuses && !l.counts_failures)
    statuses->fail("statuses belong to count: failures", "add count: failures");
  if (l.counts_failures && !statuses) l.spec.count_statuses = {401, 403};
  for (auto& alternative : l.spec.key.alternatives) {
    for (auto& part : alternative) part.show = l.show;
  }
}

}  // namespace

void read_plans(const value& v, config& out) {
  if (v.raw().what != node::type::map)
    return v.fail("expected a map of plans", "for example free: { rate: 60/min }");
  for (const auto& [name, n] : v.raw().entries) {
    const auto item = v.child(n, name.text);
    if (const auto ok = parse_name(name.text); !ok) {
      v.child(name, name.text).fail(ok.error());
      continue;
    }
    quota_draft q;
    if (!read_map(item, quota_table(), q)) continue;
    finish_quota(item, q, out.policy.plans[name.text]);
  }
}

void read_limits(const value& v, config& out) {
  out.at.limits = v.at();
  std::set<std::string> names;
  read_sequence(v, "a list of limits", [&](const value& item) {
    limit_draft l;
    l.spec.at = l.at.whole = item.at();
    l.at.path = item.path();
    quota_draft q;
    std::vector<bound_field> fields;
    bind(fields, std::span<const field<limit_draft>>(limit_table), l);
    bind(fields, quota_table(), q);
    if (!read_map(item, fields)) return;
    l.at.rate = (q.rate ? *q.rate : q.rates ? *q.rates : item).at();
    l.at.burst = (q.burst ? *q.burst : item).at();
    finish_limit(item, l, q);
    if (!l.spec.name.empty() && !names.insert(l.spec.name).second) {
      item.find("name")->fail("another limit has this name",
                              "counters belong to the name: every limit needs its own");
    }
    out.policy.limits.push_back(std::move(l.spec));
    out.at.limit.push_back(std::move(l.at));
  });
}

void describe_limits(std::vector<section_doc>& to) {
  to.push_back(
      {"plans.NAME", "Quotas by name, chosen by a limit's `plan`.", docs_of(quota_table())});
  auto fields = docs_of(limit_table);
  for (const auto& f : docs_of(quota_table())) fields.push_back(f);
  to.push_back(
      {"limits[]",
       "All limits that match a request are checked in one step; the order changes nothing.",
       fields});
  to.push_back({"limits[].match", "What is not written matches everything.", docs_of(match_table)});
  to.push_back({"limits[].plan", "", docs_of(plan_table)});
  to.push_back({"limits[].cost", "", docs_of(cost_table)});
  to.push_back({"limits[].ban", "", docs_of(ban_table)});
  to.push_back({"limits[].response", "", docs_of(refusal_table())});
}

}  // namespace penstock::config
