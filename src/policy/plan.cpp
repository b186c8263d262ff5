#include <algorithm>
#include <charconv>

#include "policy/canonical_path.hpp"
#include "policy/client_address.hpp"
#include "policy/policy_impl.hpp"
#include "policy/request_values.hpp"

namespace penstock::policy {

namespace {

// What a store takes in one step; store.hpp has the same bound.
constexpr std::size_t charges_max = 64;
constexpr std::int64_t largest_cost = (std::int64_t{1} << 53) - 1;
constexpr const char* too_many = "more than 64 windows match this request";

void stop(plan& out, planned what, const char* reason) {
  out.what = what;
  out.reason = reason;
  out.charges.clear();
  out.limit_of.clear();
}

// Keys were written one behind the other into a text that may have moved while it grew.
void set_keys(plan& out) {
  const std::string_view keys = out.keys;
  for (std::size_t i = 0; i < out.charges.size(); ++i) {
    const plan::written_key& w = out.work.of_charge[i];
    out.charges[i].key = keys.substr(w.offset, w.size);
  }
}

}  // namespace

void plan::clear() noexcept {
  what = planned::check;
  reason = "";
  path.clear();
  client = {};
  from_trusted_peer = false;
  charges.clear();
  limit_of.clear();
  denied_by = 0;
  shadow_denied = false;
  keys.clear();
  work.matched.clear();
  work.written.clear();
  work.of_charge.clear();
}

std::uint64_t policy_impl::method_mask(std::string_view method) const noexcept {
  for (std::size_t i = 0; i < methods_.size(); ++i) {
    if (methods_[i] == method) return std::uint64_t{1} << i;
  }
  return std::uint64_t{1} << 63;
}

bool policy_impl::is_exempt(const key_facts& facts) const noexcept {
  return std::any_of(exempt_.begin(), exempt_.end(), [&](const exempt_rule& r) {
    if (!r.addresses.empty() && !r.addresses.contains(facts.client)) return false;
    if (r.path && !r.path->matches(facts.path)) return false;
    if (r.needs_api_key && !(facts.who.api_key && r.api_keys.contains(*facts.who.api_key))) {
      return false;
    }
    if (r.header_name.empty()) return true;
    const found_value secret = find_field(facts.request.fields, r.header_name);
    return secret.how == occurs::once && equal_constant_time(sha256(secret.value), r.header_digest);
  });
}

key_outcome policy_impl::write_key(std::uint32_t key, const key_facts& facts, plan& out,
                                   plan::written_key& where) const {
  for (const plan::written_key& w : out.work.written) {
    if (w.key != key) continue;
    where = w;
    return key_outcome::written;
  }
  const std::size_t start = out.keys.size();
  const key_outcome did = keys_[key].append(out.keys, facts, out.work.value);
  if (did != key_outcome::written) return did;
  where = {key, static_cast<std::uint32_t>(start),
           static_cast<std::uint32_t>(out.keys.size() - start)};
  out.work.written.push_back(where);
  return did;
}

window_range policy_impl::windows_for(const compiled_limit& limit, const identity& who) const {
  if (!limit.plan_by) return limit.rates.front();
  std::optional<std::uint32_t> found;
  if (*limit.plan_by == key_kind::user) {
    if (!who.user.empty()) found = plans_.of_user(who.user);
  } else if (who.api_key) {
    found = plans_.of_key(*who.api_key);
  }
  return limit.rates[found.value_or(limit.fallback)];
}

std::int64_t policy_impl::cost_of(const compiled_limit& limit, const request_view& request,
                                  bool from_trusted_peer) const {
  if (request.cost >= 0) return std::min(request.cost, largest_cost);
  if (limit.cost.header.empty() || !from_trusted_peer) return limit.cost.constant;
  const found_value written = find_field(request.fields, limit.cost.header);
  std::int64_t cost = 0;
  const char* const end = written.value.data() + written.value.size();
  const auto [stop, failed] = std::from_chars(written.value.data(), end, cost);
  if (written.how == occurs::once && failed == std::errc::result_out_of_range && stop == end &&
      written.value.front() != '-') {
    return largest_cost;
  }
  const bool usable =
      written.how == occurs::once && failed == std::errc{} && stop == end && cost >= 0;
  return usable ? std::min(cost, largest_cost) : limit.cost.constant;
}

void policy_impl::plan_limit(std::uint32_t limit, const key_facts& facts, plan& out) const {
  const compiled_limit& l = limits_[limit];
  for (const path_pattern& excepted : l.except) {
    if (excepted.matches(facts.path)) return;
  }
  const bool shadow = l.mode == limit_mode::shadow;
  const window_range range = windows_for(l, facts.who);
  if (range.count == 0) return;  // unlimited
  plan::written_key where;
  switch (write_key(l.key, facts, out, where)) {
    case key_outcome::written:
      break;
    case key_outcome::missing:
      return;
    case key_outcome::repeated:
      if (shadow) {  // reports only, so nobody is refused on its account
        out.shadow_denied = true;
        return;
      }
      return stop(out, planned::bad_request,
                  "a value that requests are counted by stands there twice");
    case key_outcome::denied:
      if (shadow) {
        out.shadow_denied = true;
      } else if (out.what == planned::check) {
        out.denied_by = limit;
        stop(out, planned::deny, "the request lacks what it is counted by");
      }
      return;
  }
  if (out.what != planned::check) return;
  const charge like{.cost = cost_of(l, facts.request, out.from_trusted_peer),
                    .as = shadow ? role::shadow : role::enforce,
                    .only_check = l.only_check};
  if (!add_charges(limit, range, like, where, out)) stop(out, planned::bad_request, too_many);
}

// False: the store takes no more in one step.
bool policy_impl::add_charges(std::uint32_t limit, window_range range, const charge& like,
                              const plan::written_key& key, plan& out) const {
  if (out.charges.size() + range.count > charges_max) return false;
  for (std::uint32_t i = 0; i < range.count; ++i) {
    charge& c = out.charges.emplace_back(like);
    c.what = &windows_[range.first + i].what;
    out.limit_of.push_back(limit);
    out.work.of_charge.push_back(key);
  }
  return true;
}

// nullptr, or a static sentence that says why there is no such charge.
const char* policy_impl::plan_stated(const stated_charge& stated, plan& out) const {
  const auto named = std::find_if(infos_.begin(), infos_.end(),
                                  [&](const limit_info& l) { return l.name == stated.limit; });
  if (named == infos_.end()) return "there is no limit of this name";
  const auto index = static_cast<std::uint32_t>(named - infos_.begin());
  const compiled_limit& l = limits_[index];
  if (l.mode == limit_mode::off) return "the limit is switched off";
  plan::written_key where{l.key, static_cast<std::uint32_t>(out.keys.size()), 0};
  identity who;
  if (!keys_[l.key].append_stated(out.keys, stated.key, {client_, paths_}, who)) {
    return "the key is not one that the limit counts by";
  }
  where.size = static_cast<std::uint32_t>(out.keys.size()) - where.offset;
  const charge like{.cost = stated.cost < 0 ? l.cost.constant : std::min(stated.cost, largest_cost),
                    .as = l.mode == limit_mode::shadow ? role::shadow : role::enforce};
  return add_charges(index, windows_for(l, who), like, where, out) ? nullptr : too_many;
}

std::vector<const counter*> policy_impl::counters_of(std::uint32_t limit,
                                                     std::string_view key) const {
  constexpr std::string_view api_key = "api_key#";
  constexpr std::string_view user = "user:";
  identity who;
  if (key.starts_with(api_key)) who.api_key = parse_sha256(key.substr(api_key.size()));
  if (key.starts_with(user)) who.user = key.substr(user.size());
  const window_range range = windows_for(limits_[limit], who);
  std::vector<const counter*> found;
  for (std::uint32_t i = 0; i < range.count; ++i) {
    found.push_back(&windows_[range.first + i].what);
  }
  return found;
}

void policy_impl::make_plan(const request_view& request, plan& out) const {
  out.clear();
  for (const stated_charge& one : request.stated) {
    if (const char* why = plan_stated(one, out)) return stop(out, planned::bad_request, why);
  }
  if (!request.stated.empty()) return set_keys(out);
  out.from_trusted_peer = request.vouched || trusted_.contains(request.peer);
  out.client =
      client_address(request.peer, request.fields, trusted_, client_.address_from, request.vouched);
  if (!blocked_.empty() && blocked_.contains(out.client)) {
    return stop(out, planned::blocked, "the address is on the block list");
  }
  if (const char* why = canonicalise(request.path, paths_, out.path)) {
    out.path.clear();  // nobody is to take what was read so far for the path
    return stop(out, planned::bad_request, why);
  }
  identity who =
      identity_.read(request.fields, request.query, out.from_trusted_peer, out.work.value);
  if (who.refused != nullptr) return stop(out, planned::bad_request, who.refused);
  if (!request.user.empty()) who.user = request.user;
  out.work.host.clear();
  if (needs_host_) append_host(out.work.host, request.host);
  const key_facts facts{
      request,      who, out.client, client_, match_form(out.path, paths_, out.work.match_path),
      out.work.host};
  if (!exempt_.empty() && is_exempt(facts)) {
    out.what = planned::exempt;
    return;
  }

  std::vector<std::uint32_t>& matched = out.work.matched;
  index_.find(facts.host, facts.path, matched);
  if (matched.size() > 1) {
    std::sort(matched.begin(), matched.end());
    matched.erase(std::unique(matched.begin(), matched.end()), matched.end());
  }
  const std::uint64_t method = method_mask(request.method);
  for (const std::uint32_t limit : matched) {
    if ((limits_[limit].methods & method) == 0) continue;
    plan_limit(limit, facts, out);
    if (out.what == planned::bad_request) return;
  }
  set_keys(out);
}

void failures_to_charge(const plan& plan, const compiled_policy& policy, int status,
                        std::vector<charge>& out) {
  for (std::size_t i = 0; i < plan.charges.size(); ++i) {
    if (!plan.charges[i].only_check) continue;
    const std::vector<int>& counted = policy.limits()[plan.limit_of[i]].count_statuses;
    if (std::find(counted.begin(), counted.end(), status) == counted.end()) continue;
    out.push_back(plan.charges[i]);
    out.back().only_check = false;
  }
}

}  // namespace penstock::policy
