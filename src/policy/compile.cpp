#include <algorithm>
#include <limits>
#include <memory>

#include "base/ascii.hpp"
#include "policy/policy_impl.hpp"
#include "policy/request_values.hpp"

namespace penstock::policy {

namespace {

constexpr unsigned other_methods_bit = 63;

error about(const limit_spec& limit, const error& e) {
  return {e.code, "limit '" + limit.name + "': " + e.message};
}

error bad_limit(const limit_spec& limit, std::string_view why) {
  return about(limit, {errc::invalid_config, std::string(why)});
}

bool is_name(std::string_view s) noexcept {
  return !s.empty() && s.size() <= 64 && std::all_of(s.begin(), s.end(), [](char c) {
    return ascii::is_alnum(c) || c == '.' || c == '_' || c == '-';
  });
}

bool is_token(std::string_view s) noexcept {
  return !s.empty() && std::all_of(s.begin(), s.end(), ascii::is_token);
}

std::string lower_case(std::string_view s) {
  std::string out(s);
  std::transform(out.begin(), out.end(), out.begin(), ascii::lower);
  return out;
}

result<bool> check_header_names(const header_names& names) {
  for (const std::string* name : {&names.limit, &names.remaining, &names.reset, &names.window}) {
    if (!name->empty() && !is_token(*name)) {
      return error{errc::invalid_config, "responses.names: '" + *name + "' is no header name"};
    }
  }
  return true;
}

result<bool> check_prefixes(const client_spec& client) {
  if (client.ipv4_prefix < 0 || client.ipv4_prefix > 32 || client.ipv6_prefix < 0 ||
      client.ipv6_prefix > 128) {
    return error{errc::invalid_config, "client: prefixes are 0 to 32 and 0 to 128"};
  }
  return true;
}

}  // namespace

result<plan_table> plan_table::create(const side_tables& tables,
                                      const std::map<std::string, rate_spec>& plans) {
  plan_table t;
  for (const auto& [who, name] : tables.plan_of) {
    const auto at = plans.find(name);
    if (at == plans.end()) {
      return error{errc::invalid_config,
                   "a plan table names plan '" + name + "', which plans lacks"};
    }
    const auto index = static_cast<std::uint32_t>(std::distance(plans.begin(), at));
    if (const auto digest = parse_sha256(who)) t.keys_.emplace_back(*digest, index);
    t.users_.insert_or_assign(who, index);
  }
  std::stable_sort(t.keys_.begin(), t.keys_.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  return t;
}

std::optional<std::uint32_t> plan_table::of_key(const sha256_digest& digest) const noexcept {
  // The last line of a file wins, as for users.
  const auto after = std::upper_bound(keys_.begin(), keys_.end(), digest,
                                      [](const auto& d, const auto& e) { return d < e.first; });
  if (after == keys_.begin() || std::prev(after)->first != digest) return std::nullopt;
  return std::prev(after)->second;
}

std::optional<std::uint32_t> plan_table::of_user(std::string_view user) const noexcept {
  const auto at = users_.find(user);
  if (at == users_.end()) return std::nullopt;
  return at->second;
}

result<std::uint64_t> policy_impl::method_bit(const std::string& method) {
  if (!is_token(method)) {
    return error{errc::invalid_config, "match.method: not a method: " + method};
  }
  auto at = std::find(methods_.begin(), methods_.end(), method);
  if (at == methods_.end()) {
    if (methods_.size() == other_methods_bit) {
      return error{errc::invalid_config, "match.method: a policy names at most 63 methods"};
    }
    at = methods_.insert(at, method);
  }
  return std::uint64_t{1} << std::distance(methods_.begin(), at);
}

std::uint32_t policy_impl::intern_key(limit_key key) {
  const auto at = std::find_if(keys_.begin(), keys_.end(), [&](const limit_key& k) {
    return k.signature() == key.signature();
  });
  const auto index = static_cast<std::uint32_t>(std::distance(keys_.begin(), at));
  if (at == keys_.end()) {
    needs_host_ = needs_host_ || key.uses(key_kind::host);
    keys_.push_back(std::move(key));
  }
  return index;
}

result<window_range> policy_impl::add_windows(const limit_spec& limit, const rate_spec& rate) {
  window_range range{static_cast<std::uint32_t>(windows_.size()), 0};
  if (rate.unlimited) return range;
  if (rate.quotas.empty()) return bad_limit(limit, "has no rate");
  for (const quota& q : rate.quotas) {
    auto w = make_window(limit.name, q, rate.quotas.size() > 1, limit.count_denied);
    if (!w) return about(limit, w.error());
    for (std::size_t i = range.first; i < windows_.size(); ++i) {
      if (windows_[i].what.id == w->what.id) {
        return bad_limit(limit, "has two windows of the same algorithm and period");
      }
    }
    windows_.push_back(*std::move(w));
    ++range.count;
  }
  return range;
}

result<bool> policy_impl::add_rates(const policy_spec& spec, const limit_spec& limit,
                                    compiled_limit& into) {
  if (!limit.plan) {
    auto range = add_windows(limit, limit.rate);
    if (!range) return range.error();
    into.rates.push_back(*range);
    return true;
  }
  if (limit.plan->by != key_kind::api_key && limit.plan->by != key_kind::user) {
    return bad_limit(limit, "plan.by: is api_key or user");
  }
  const auto fallback = spec.plans.find(limit.plan->fallback);
  if (fallback == spec.plans.end()) {
    return bad_limit(limit, "plan.default: there is no plan '" + limit.plan->fallback + "'");
  }
  into.plan_by = limit.plan->by;
  into.fallback = static_cast<std::uint32_t>(std::distance(spec.plans.begin(), fallback));
  for (const auto& [name, rate] : spec.plans) {
    auto range = add_windows(limit, rate);
    if (!range) return range.error();
    into.rates.push_back(*range);
  }
  return true;
}

result<bool> policy_impl::add_matches(const limit_spec& limit, const path_pattern& pattern,
                                      compiled_limit& into) {
  into.methods = limit.match.methods.empty() ? std::numeric_limits<std::uint64_t>::max() : 0;
  for (const std::string& method : limit.match.methods) {
    auto bit = method_bit(method);
    if (!bit) return about(limit, bit.error());
    into.methods |= *bit;
  }
  const auto index = static_cast<std::uint32_t>(limits_.size());
  if (limit.match.hosts.empty()) index_.add("", pattern, index);
  for (const std::string& written : limit.match.hosts) {
    std::string host;
    append_host(host, written);
    const std::string_view labels = std::string_view(host).substr(host.starts_with("*.") ? 2 : 0);
    if (labels.empty() || labels.front() == '.' || labels.find('*') != std::string_view::npos) {
      return bad_limit(limit, "match.host: '" + written + "' is no host; a * stands in front only");
    }
    index_.add(host, pattern, index);
  }
  return true;
}

result<bool> policy_impl::add_ban(const limit_spec& limit) {
  ban_counters_.emplace_back();
  if (!limit.ban) return true;
  const ban_spec& ban = *limit.ban;
  if (ban.after < 1 || ban.lasts <= duration{0}) {
    return bad_limit(limit, "ban: needs at least one refusal and a time");
  }
  // Exact for the usual handful of refusals; a log of thousands for each key is not worth it.
  constexpr std::int64_t longest_log = 100;
  const quota q{.kind = ban.after <= longest_log ? algorithm::sliding_window_log
                                                 : algorithm::sliding_window_counter,
                .count = ban.after,
                .period = ban.within};
  auto w = make_window(limit.name + ":ban", q, false, false);
  if (!w) return about(limit, w.error());
  ban_counters_.back() = std::make_unique<counter>(std::move(w->what));
  infos_.back().ban = ban;
  infos_.back().ban_counter = ban_counters_.back().get();
  return true;
}

result<bool> policy_impl::add_limit(const policy_spec& spec, const limit_spec& limit) {
  if (!is_name(limit.name)) return bad_limit(limit, "a name is 1 to 64 of A-Z a-z 0-9 . _ -");
  const bool known = std::any_of(infos_.begin(), infos_.end(),
                                 [&](const limit_info& i) { return i.name == limit.name; });
  if (known) return bad_limit(limit, "there are two of this name");
  if (limit.cost.constant < 0) return bad_limit(limit, "cost: is not negative");
  if (limit.retry_jitter < duration{0}) return bad_limit(limit, "retry_jitter: is not negative");

  limit_info info;
  info.name = limit.name;
  info.key_type = limit.key.text;
  info.endpoint = limit.match.path.empty() ? "*" : limit.match.path;
  info.on_store_failure = limit.on_store_failure.value_or(spec.on_store_failure);
  info.shadow = spec.shadow_all || limit.mode == limit_mode::shadow;
  info.counts_failures = !limit.count_statuses.empty();
  info.count_statuses = limit.count_statuses;
  infos_.push_back(std::move(info));

  compiled_limit c;
  c.mode = limit.mode;
  c.cost = limit.cost;
  c.only_check = !limit.count_statuses.empty();
  c.jitter_us = limit.retry_jitter.count();
  if (spec.shadow_all && c.mode == limit_mode::enforce) c.mode = limit_mode::shadow;
  if (limit.response) {
    auto r = responder::create(*limit.response);
    if (!r) return about(limit, r.error());
    c.response = static_cast<std::uint32_t>(responders_.size());
    responders_.push_back(*std::move(r));
  }
  const auto pattern = path_pattern::parse(limit.match.path, spec.paths.fold_case);
  if (!pattern) return about(limit, pattern.error());
  for (const std::string& written : limit.match.except) {
    auto excepted = path_pattern::parse(written, spec.paths.fold_case);
    if (!excepted) return about(limit, excepted.error());
    c.except.push_back(*std::move(excepted));
  }
  auto key = limit_key::create(limit, *pattern);
  if (!key) return about(limit, key.error());
  c.key = intern_key(*std::move(key));
  if (auto done = add_rates(spec, limit, c); !done) return done;
  if (auto done = add_ban(limit); !done) return done;
  if (limit.mode != limit_mode::off) {
    if (auto done = add_matches(limit, *pattern, c); !done) return done;
  }
  limits_.push_back(std::move(c));
  return true;
}

result<bool> policy_impl::add_exempt(const exempt_spec& spec) {
  exempt_rule rule;
  auto addresses = address_set::parse(spec.addresses);
  if (!addresses) return addresses.error();
  rule.addresses = *std::move(addresses);
  if (!spec.header_name.empty()) {
    const auto digest = parse_sha256(spec.header_sha256);
    if (!digest) return error{errc::invalid_config, "exempt.header: sha256 has 64 hex digits"};
    rule.header_name = spec.header_name;
    rule.header_digest = *digest;
  }
  auto keys = digest_set::parse(spec.api_keys_sha256);
  if (!keys) return keys.error();
  rule.api_keys = *std::move(keys);
  rule.needs_api_key = !spec.api_keys_sha256.empty();
  if (!spec.path.empty()) {
    auto pattern = path_pattern::parse(spec.path, paths_.fold_case);
    if (!pattern) return pattern.error();
    rule.path = *std::move(pattern);
  }
  if (spec.addresses.empty() && spec.header_name.empty() && !rule.needs_api_key && !rule.path) {
    return error{errc::invalid_config, "exempt: an entry without criteria would exempt everything"};
  }
  exempt_.push_back(std::move(rule));
  return true;
}

result<bool> policy_impl::build(const policy_spec& spec, const side_tables& tables) {
  client_ = spec.client;
  paths_ = spec.paths;
  responses_ = spec.responses;
  if (auto ok = check_prefixes(spec.client); !ok) return ok;
  if (auto ok = check_header_names(spec.responses.names); !ok) return ok;
  line_starts_ = spec.responses.names;
  for (std::string* name :
       {&line_starts_.limit, &line_starts_.remaining, &line_starts_.reset, &line_starts_.window}) {
    if (!name->empty()) name->append(": ");
  }
  auto trusted = address_set::parse(spec.client.trusted_proxies);
  if (!trusted) return trusted.error();
  trusted_ = *std::move(trusted);
  auto blocked = address_set::parse(spec.block);
  if (!blocked) return blocked.error();
  blocked_ = *std::move(blocked);
  auto reader = identity_reader::create(spec.identity, tables.known_keys_sha256);
  if (!reader) return reader.error();
  identity_ = *std::move(reader);
  if (!spec.identity.user_header.empty()) {
    untrusted_fields_.push_back(lower_case(spec.identity.user_header));
  }
  auto plans = plan_table::create(tables, spec.plans);
  if (!plans) return plans.error();
  plans_ = *std::move(plans);
  auto refused = responder::create(spec.responses.refused);
  if (!refused) return refused.error();
  responders_.push_back(*std::move(refused));
  for (const exempt_spec& e : spec.exempt) {
    if (auto ok = add_exempt(e); !ok) return ok;
  }
  for (const limit_spec& limit : spec.limits) {
    if (auto ok = add_limit(spec, limit); !ok) return ok;
    if (!limit.cost.header.empty()) untrusted_fields_.push_back(lower_case(limit.cost.header));
  }
  needs_host_ = needs_host_ || index_.uses_hosts();
  return true;
}

result<std::shared_ptr<const compiled_policy>> compile(const policy_spec& spec,
                                                       const side_tables& tables) {
  auto policy = std::make_shared<policy_impl>();
  if (auto built = policy->build(spec, tables); !built) return built.error();
  return std::shared_ptr<const compiled_policy>(std::move(policy));
}

}  // namespace penstock::policy
