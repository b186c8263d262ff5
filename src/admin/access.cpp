#include "admin/access.hpp"

#include <algorithm>

#include "base/ascii.hpp"

namespace penstock::admin {
namespace {

using ascii::iequals;
using ascii::trim;
using telemetry::tally;

std::string_view value_of(field_list fields, std::string_view name) {
  for (const field& f : fields) {
    if (iequals(f.name, name)) return f.value;
  }
  return {};
}

// "example.com:7070" -> "example.com", "[::1]:7070" -> "[::1]".
std::string_view without_port(std::string_view authority) {
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.rfind(':');
  if (colon == std::string_view::npos) return authority;
  if (bracket != std::string_view::npos && colon < bracket) return authority;
  return authority.substr(0, colon);
}

// The authority of an Origin; empty for "null" and what is no web origin.
std::string_view authority_of(std::string_view origin) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (origin.starts_with(scheme)) return origin.substr(scheme.size());
  }
  return {};
}

bool is_change(std::string_view method) {
  return method != "GET" && method != "HEAD";
}

}  // namespace

bool access::host_allowed(std::string_view authority) const {
  const std::string_view host = without_port(authority);
  for (const std::string_view name : {"localhost", "127.0.0.1", "[::1]"}) {
    if (iequals(host, name)) return true;
  }
  return std::ranges::any_of(options_.hosts, [&](const auto& h) { return iequals(host, h); });
}

std::optional<access_refusal> access::judge(const access_request& r, std::int64_t now_ms) {
  if (options_.token) {
    if (auto refusal = judge_token(r, now_ms)) return refusal;
  } else {
    if (!r.local) {
      return access_refusal{403, "without admin.token only this machine may use the admin API",
                            tally::admin_wrong_host};
    }
    if (!host_allowed(r.authority)) {
      return access_refusal{403, "this Host is not allowed; use localhost, or set admin.token",
                            tally::admin_wrong_host};
    }
  }
  if (!is_change(r.method)) return std::nullopt;

  const std::string_view origin = value_of(r.fields, "Origin");
  if (!origin.empty() && !iequals(authority_of(origin), r.authority)) {
    return access_refusal{403, "changes are not accepted from pages of other sites",
                          tally::admin_cross_site};
  }
  const std::string_view site = value_of(r.fields, "Sec-Fetch-Site");
  if (!site.empty() && site != "same-origin" && site != "none") {
    return access_refusal{403, "changes are not accepted from pages of other sites",
                          tally::admin_cross_site};
  }
  // A form can send other types without asking first; a browser asks before it sends this one.
  const std::string_view type = value_of(r.fields, "Content-Type");
  if (!iequals(trim(type.substr(0, type.find(';'))), "application/json")) {
    return access_refusal{415, "send the change as Content-Type: application/json",
                          tally::admin_cross_site};
  }
  return std::nullopt;
}

std::optional<access_refusal> access::judge_token(const access_request& r, std::int64_t now_ms) {
  constexpr std::string_view scheme = "bearer ";
  const std::string_view given = value_of(r.fields, "Authorization");
  if (given.size() <= scheme.size() || !iequals(given.substr(0, scheme.size()), scheme)) {
    return access_refusal{401, "send the admin token as Authorization: Bearer TOKEN",
                          tally::admin_wrong_token};
  }
  failures& before = failures_of(r.peer, now_ms);
  if (before.count >= failures_max) {
    return access_refusal{429, "too many wrong tokens; try again in a minute",
                          tally::admin_too_many_failures};
  }
  // Digests are compared, so neither the time nor its variation tells anything about the token.
  const sha256_digest digest = sha256(trim(given.substr(scheme.size())));
  if (equal_constant_time(digest, *options_.token)) return std::nullopt;
  if (before.count++ == 0) before.since_ms = now_ms;
  return access_refusal{401, "the admin token is wrong", tally::admin_wrong_token};
}

access::failures& access::failures_of(const peer_key& peer, std::int64_t now_ms) {
  if (failures_.size() >= peers_max && !failures_.contains(peer)) {
    std::erase_if(failures_, [&](const auto& f) {
      return f.second.count == 0 || now_ms - f.second.since_ms >= failures_window_ms;
    });
    // Still full of attackers: the newcomer shares the first one's count.
    if (failures_.size() >= peers_max) return failures_.begin()->second;
  }
  failures& f = failures_[peer];
  if (f.count > 0 && now_ms - f.since_ms >= failures_window_ms) f = {};
  return f;
}

}  // namespace penstock::admin
