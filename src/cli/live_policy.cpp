#include "cli/live_policy.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cli/needs_restart.hpp"
#include "config/limit_flag.hpp"
#include "quota/names.hpp"

namespace penstock::cli {
namespace {

// "200/min burst 50", with the limit's own algorithm unless the text names one.
result<policy::rate_spec> parse_quota(const std::string& text, const policy::limit_spec& limit) {
  const auto kind = limit.plan || limit.rate.quotas.empty() ? algorithm::token_bucket
                                                            : limit.rate.quotas.front().kind;
  auto parsed = config::parse_limit_flag("global " + text + " " + std::string(to_string(kind)));
  if (!parsed) parsed = config::parse_limit_flag("global " + text);
  if (!parsed) return error{errc::invalid_quota, parsed.error().message};
  for (const auto& q : parsed->rate.quotas) {
    if (auto fine = validate(q); !fine) return fine.error();
  }
  return std::move(parsed->rate);
}

}  // namespace

live_policy::live_policy(settings first, settings_source source, instant now,
                         telemetry::metrics& metrics)
    : settings_(std::move(first)), source_(std::move(source)), metrics_(metrics) {
  snapshot_.policy = settings_.policy;
  snapshot_.spec = std::make_shared<policy::policy_spec>(settings_.value.policy);
  snapshot_.loaded_at = now;
}

void live_policy::serve(std::deque<net::loop>& loops, std::deque<service::service>& services) {
  loops_ = &loops;
  services_ = &services;
}

policy::policy_spec live_policy::effective() const {
  auto spec = settings_.value.policy;
  for (auto& limit : spec.limits) {
    const auto at = overrides_.find(limit.name);
    if (at == overrides_.end()) continue;
    limit.rate = at->second.second;
    limit.plan.reset();
  }
  return spec;
}

void live_policy::put_in_force(std::shared_ptr<const policy::compiled_policy> next,
                               policy::policy_spec spec) {
  for (std::size_t i = 0; loops_ && i < loops_->size(); ++i) {
    (*loops_)[i].post([&service = (*services_)[i], next] { service.use(next); });
  }
  const std::lock_guard lock(mutex_);
  snapshot_.policy = std::move(next);
  snapshot_.spec = std::make_shared<policy::policy_spec>(std::move(spec));
  snapshot_.overrides.clear();
  for (const auto& [name, one] : overrides_) snapshot_.overrides.push_back(one.first);
}

bool live_policy::reload(instant now) {
  auto next = source_.load();
  std::string why;
  if (next) {
    for (const auto& name : needs_restart(settings_.value, next->value)) {
      std::fprintf(stderr, "penstock: %s has changed; a restart is needed for it\n", name.c_str());
    }
    // The policy changes as a whole, of the rest what needs no opening. Overrides of limits that
    // are gone end with them.
    take_live(settings_.value, next->value);
    settings_.value.policy = std::move(next->value.policy);
    std::erase_if(overrides_, [this](const auto& one) {
      return std::ranges::none_of(settings_.value.policy.limits,
                                  [&](const auto& l) { return l.name == one.first; });
    });
    auto spec = effective();
    auto compiled = overrides_.empty() ? result(std::move(next->policy))
                                       : policy::compile(spec, source_.tables());
    if (compiled) {
      settings_.policy = *compiled;
      put_in_force(std::move(*compiled), std::move(spec));
    } else {
      why = compiled.error().message;
      std::fprintf(stderr, "penstock: %s\n", why.c_str());
    }
  } else {
    why = "the settings have an error; the log names it";
  }

  const bool good = why.empty();
  std::uint64_t generation = 0;
  {
    const std::lock_guard lock(mutex_);
    if (good) {
      ++snapshot_.generation;
      snapshot_.loaded_at = now;
    }
    snapshot_.reload_error = why;
    generation = snapshot_.generation;
  }
  metrics_.add(good ? telemetry::tally::reloads_applied : telemetry::tally::reloads_rejected);
  const std::string text = "policy generation " + std::to_string(generation) +
                           (good ? " is in force" : " stays in force");
  std::fprintf(stderr, "penstock: %s%s\n", good ? "" : "reload refused; ", text.c_str());
  metrics_.events().add({.at = now,
                         .kind = telemetry::event_kind::reload,
                         .good = good,
                         .text = good ? text : "reload refused: " + why});
  return good;
}

result<quota_override> live_policy::override_limit(const std::string& limit,
                                                   const std::string& quota, duration lasts,
                                                   instant now) {
  const auto& limits = settings_.value.policy.limits;
  const auto at = std::ranges::find(limits, limit, &policy::limit_spec::name);
  if (at == limits.end()) {
    return error{errc::invalid_argument, "there is no limit named \"" + limit + "\""};
  }
  auto rate = parse_quota(quota, *at);
  if (!rate) return rate.error();
  const auto before = overrides_;
  const quota_override made{limit, quota, now + lasts};
  overrides_[limit] = {made, std::move(*rate)};
  auto spec = effective();
  auto compiled = policy::compile(spec, source_.tables());
  if (!compiled) {
    overrides_ = before;
    return compiled.error();
  }
  put_in_force(std::move(*compiled), std::move(spec));
  return made;
}

std::size_t live_policy::lift_override(const std::string& limit, instant now) {
  const auto at = overrides_.find(limit);
  if (at == overrides_.end()) return 0;
  at->second.first.expires_at = now;
  expire_overrides(now);
  return 1;
}

void live_policy::expire_overrides(instant now) {
  const auto ended = std::erase_if(
      overrides_, [now](const auto& one) { return one.second.first.expires_at <= now; });
  if (ended == 0) return;
  auto spec = effective();
  auto compiled = policy::compile(spec, source_.tables());
  // What compiled with the override compiles without it: the file alone was loaded before.
  if (compiled) put_in_force(std::move(*compiled), std::move(spec));
}

policy_snapshot live_policy::snapshot() const {
  const std::lock_guard lock(mutex_);
  return snapshot_;
}

}  // namespace penstock::cli
