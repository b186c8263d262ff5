#include "config/overrides.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "config/consistency.hpp"
#include "config/grammar/number.hpp"
#include "config/limit_flag.hpp"

namespace penstock::config {
namespace {

parsed<std::int64_t> parse_workers(std::string_view text) {
  const auto n = parse_count(text);
  if (n && *n <= 1024) return *n;
  return problem{fmt::format("{} is not a number of workers", quoted(text)),
                 "0 to 1024; 0: one for each CPU", 0};
}

std::optional<problem> set_upstream(config& c, const std::string& text) {
  auto u = parse_upstream(text);
  if (!u) return u.error();
  c.gateway.upstreams.push_back(std::move(*u));
  return std::nullopt;
}

std::optional<problem> set_limit(config& c, const std::string& text) {
  auto limit = parse_limit_flag(text);
  if (!limit) return limit.error();
  make_unique_name(*limit, c.policy.limits);
  limit_places at;
  at.path = fmt::format("limit '{}'", text);
  c.policy.limits.push_back(std::move(*limit));
  c.at.limit.push_back(std::move(at));
  return std::nullopt;
}

// Sets `out` from the text; a place in the file says nothing about it any more.
template <class T, class Out>
std::optional<problem> set(parsed<T> (*parse)(std::string_view), const std::string& text, Out& out,
                           policy::place* place = nullptr) {
  auto p = parse(text);
  if (!p) return p.error();
  out = std::move(*p);
  if (place != nullptr) *place = {};
  return std::nullopt;
}

using setter = std::optional<problem> (*)(config& c, const std::string& text);

struct option {
  const char* flag;
  const char* variable;
  std::optional<std::string> overrides::*value;
  setter apply;
};
constexpr option options[] = {
    {"--listen", "PENSTOCK_LISTEN", &overrides::listen,
     [](config& c, const std::string& t) { return set(parse_listen, t, c.gateway.listen); }},
    {"--store", "PENSTOCK_STORE", &overrides::store,
     [](config& c, const std::string& t) {
       return set(parse_store_url, t, c.store.url, &c.at.store_url);
     }},
    {"--decision-http", "PENSTOCK_DECISION_HTTP", &overrides::decision_http,
     [](config& c, const std::string& t) { return set(parse_listen, t, c.decision.http); }},
    {"--decision-grpc", "PENSTOCK_DECISION_GRPC", &overrides::decision_grpc,
     [](config& c, const std::string& t) { return set(parse_listen, t, c.decision.grpc); }},
    {"--decision-redis", "PENSTOCK_DECISION_REDIS", &overrides::decision_redis,
     [](config& c, const std::string& t) { return set(parse_listen, t, c.decision.redis); }},
    {"--admin", "PENSTOCK_ADMIN", &overrides::admin,
     [](config& c, const std::string& t) {
       return set(parse_listen, t, c.admin.listen, &c.at.admin_listen);
     }},
    {"--health", "PENSTOCK_HEALTH", &overrides::health,
     [](config& c, const std::string& t) { return set(parse_listen, t, c.health.listen); }},
    {"--workers", "PENSTOCK_WORKERS", &overrides::workers,
     [](config& c, const std::string& t) { return set(parse_workers, t, c.workers); }},
};

// The repeatable ones; in a variable `between` stands between two values.
struct list_option {
  const char* flag;
  const char* variable;
  std::vector<std::string> overrides::*values;
  setter apply;
  char between;
};
constexpr list_option list_options[] = {
    {"--upstream", "PENSTOCK_UPSTREAM", &overrides::upstreams, set_upstream, ','},
    {"--limit", "PENSTOCK_LIMIT", &overrides::limits, set_limit, ';'},
};

std::vector<std::string> split(const std::string& text, char sign) {
  std::vector<std::string> out;
  for (std::size_t from = 0; from <= text.size();) {
    const auto end = std::min(text.find(sign, from), text.size());
    const auto first = text.find_first_not_of(" \t\r\n", from);
    if (first < end)
      out.push_back(text.substr(first, text.find_last_not_of(" \t\r\n", end - 1) - first + 1));
    from = end + 1;
  }
  return out;
}

}  // namespace

overrides overrides_from_environment(
    const std::function<std::optional<std::string>(const char* name)>& variable) {
  overrides out;
  for (const auto& o : options) {
    auto text = variable(o.variable);
    if (text && !text->empty()) out.*o.value = std::move(text);
  }
  for (const auto& o : list_options)
    out.*o.values = split(variable(o.variable).value_or(""), o.between);
  return out;
}

std::vector<issue> apply_overrides(const overrides& o, override_source from, config& c) {
  std::vector<issue> issues;
  const auto apply = [&](const auto& option, const std::string& text) {
    const auto p = option.apply(c, text);
    if (!p) return;
    const bool secret = std::string_view(option.flag) == "--store";
    issues.push_back({.file = from == override_source::flags ? option.flag : option.variable,
                      .at = {0, static_cast<int>(p->offset) + 1},
                      .message = p->message,
                      .hint = p->hint,
                      .excerpt = secret ? "" : text});
  };
  for (const auto& option : options) {
    if (const auto& text = o.*option.value; text && !text->empty()) apply(option, *text);
  }
  if (!o.upstreams.empty()) c.gateway.upstreams.clear();
  for (const auto& option : list_options) {
    for (const auto& text : o.*option.values) apply(option, text);
  }
  if (issues.empty()) check_consistency(c, issues);
  return issues;
}

}  // namespace penstock::config
