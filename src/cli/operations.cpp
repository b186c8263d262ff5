#include "cli/operations.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "cli/key_forms.hpp"
#include "quota/names.hpp"

namespace penstock::cli {
namespace {

std::string mode_text(policy::limit_mode mode, bool shadow_all) {
  if (mode == policy::limit_mode::off) return "off";
  return shadow_all || mode == policy::limit_mode::shadow ? "shadow" : "enforce";
}

std::string failure_text(policy::store_failure f) {
  switch (f) {
    case policy::store_failure::deny:
      return "deny";
    case policy::store_failure::local:
      return "local";
    case policy::store_failure::allow:
      break;
  }
  return "allow";
}

std::string quota_text(const policy::rate_spec& rate) {
  if (rate.unlimited) return "unlimited";
  std::string text;
  for (const auto& q : rate.quotas) {
    if (!text.empty()) text += ", ";
    text += quotas::describe(q);
  }
  return text;
}

}  // namespace

// The question what several counters of one key hold; lives until the store has answered.
struct key_question : store::batch {
  std::shared_ptr<const policy::compiled_policy> policy;  // keeps the counters
  std::string key;
  std::vector<charge> of;
  std::vector<verdict> found;
  std::vector<std::uint32_t> limits;
  std::function<void(key_question&)> then;

  static void finished(store::batch& b) {
    const std::unique_ptr<key_question> mine(static_cast<key_question*>(&b));
    mine->then(*mine);
  }
};

template <class T>
void process_operations::answer(admin::done<T> then, result<T> value) {
  control_->post(
      [then = std::move(then), value = std::move(value)]() mutable { then(std::move(value)); });
}

result<std::vector<std::uint32_t>> process_operations::meant(
    const policy_snapshot& now, const admin::key_reference& what) const {
  std::vector<std::uint32_t> found;
  bool named = false;
  const auto& limits = now.spec->limits;
  for (std::uint32_t i = 0; i < limits.size(); ++i) {
    if (!what.limit.empty() && limits[i].name != what.limit) continue;
    named = true;
    if (writes_keys_like(limits[i].key, what.key)) found.push_back(i);
  }
  if (!named)
    return error{errc::invalid_argument, "there is no limit named \"" + what.limit + "\""};
  if (found.empty()) {
    return error{
        errc::invalid_argument,
        "no limit counts by a key like \"" + what.key +
            "\"; keys are written as offenders show them, for example address:203.0.113.9"};
  }
  return found;
}

admin::readiness process_operations::ready() {
  admin::readiness r;
  if (on_.draining.load()) {
    r.ready = false;
    r.reasons.emplace_back("draining: no new requests are taken");
  }
  if (!on_.all_stores.up()) {
    r.reasons.emplace_back("the store does not answer: limits decide by on_store_failure");
  }
  if (const auto now = on_.policy.snapshot(); !now.reload_error.empty()) {
    r.reasons.emplace_back("the latest reload was refused: " + now.reload_error);
  }
  return r;
}

admin::process_status process_operations::status() {
  auto s = on_.fixed;
  const auto now = on_.policy.snapshot();
  s.policy_generation = now.generation;
  s.policy_loaded_at = now.loaded_at;
  s.reload_error = now.reload_error;
  s.store_up = on_.all_stores.up();
  s.breaker_open = on_.all_stores.failed();
  return s;
}

std::vector<admin::limit_info> process_operations::limits() {
  const auto now = on_.policy.snapshot();
  const auto infos = now.policy->limits();
  std::vector<admin::limit_info> all;
  for (std::size_t i = 0; i < infos.size(); ++i) {
    const auto& limit = now.spec->limits[i];
    admin::limit_info info;
    info.name = limit.name;
    info.key_type = infos[i].key_type;
    info.endpoint = infos[i].endpoint;
    info.mode = mode_text(limit.mode, now.spec->shadow_all);
    info.on_store_failure = failure_text(infos[i].on_store_failure);
    if (limit.plan) {
      info.quota = "by plan, else " + limit.plan->fallback;
      info.algorithm = "by plan";
    } else {
      info.quota = quota_text(limit.rate);
      if (!limit.rate.quotas.empty()) info.algorithm = to_string(limit.rate.quotas.front().kind);
    }
    for (const auto& o : now.overrides) {
      if (o.limit == limit.name)
        info.overridden = admin::override_info{o.limit, o.quota, o.expires_at};
    }
    all.push_back(std::move(info));
  }
  return all;
}

std::vector<admin::ban_info> process_operations::bans() {
  std::vector<admin::ban_info> all;
  for (auto& e : on_.bans.entries(on_.clock.now())) {
    const bool by_limit = e.reason.empty();
    all.push_back({std::move(e.limit), std::move(e.key), e.until, std::move(e.reason), by_limit});
  }
  return all;
}

std::vector<admin::override_info> process_operations::overrides() {
  std::vector<admin::override_info> all;
  for (auto& o : on_.policy.snapshot().overrides) all.push_back({o.limit, o.quota, o.expires_at});
  return all;
}

std::unique_ptr<key_question> process_operations::question(const policy_snapshot& now,
                                                           const std::vector<std::uint32_t>& limits,
                                                           const std::string& key) const {
  auto q = std::make_unique<key_question>();
  q->policy = now.policy;
  q->key = key;
  for (const auto limit : limits) {
    for (const counter* one : now.policy->counters_of(limit, q->key)) {
      q->of.push_back({.what = one, .key = q->key});
      q->limits.push_back(limit);
    }
  }
  q->found.resize(q->of.size());
  q->why = store::intent::peek;
  q->on_done = &key_question::finished;
  return q;
}

void process_operations::put(std::unique_ptr<key_question> asked, bool forget) {
  on_.serving.post(
      [this, forget, waiting = std::make_shared<std::unique_ptr<key_question>>(std::move(asked))] {
        auto* q = waiting->release();
        if (forget) {
          for (const charge& one : q->of) on_.counters.reset(*one.what, one.key);
        }
        // One question holds so many; who asks about more names the limit.
        const auto n = std::min(q->of.size(), store::max_charges);
        q->charges = std::span(q->of).first(n);
        q->verdicts = std::span(q->found).first(n);
        if (q->of.empty() || on_.counters.check(*q, on_.clock.now()) == store::progress::done) {
          key_question::finished(*q);
        }
      });
}

void process_operations::others_offenders(admin::done<admin::other_offenders> then) {
  if (!on_.all_stores.remote()) return then(admin::other_offenders{});
  on_.all_stores.read_board([this, then = std::move(then)](auto board) {
    // Read on the control loop: requests do not wait for it.
    control_->post([board = std::move(board), then] {
      admin::other_offenders others{.processes = {}, .whole = board.answered && board.whole};
      for (const std::string& notice : board.notices) {
        if (auto of = telemetry::read_offenders(notice)) {
          others.processes.push_back(std::move(*of));
        } else {
          others.whole = false;
        }
      }
      then(std::move(others));
    });
  });
}

void process_operations::inspect(const admin::key_reference& what,
                                 admin::done<std::vector<admin::key_state>> then) {
  const auto now = on_.policy.snapshot();
  const auto limits = meant(now, what);
  if (!limits) return then(limits.error());

  auto asked = question(now, *limits, what.key);
  asked->then = [this, then = std::move(then)](key_question& q) {
    if (q.failed) {
      return answer<std::vector<admin::key_state>>(
          then, error{errc::store_unavailable, "the store does not answer"});
    }
    std::vector<admin::key_state> states;
    const auto infos = q.policy->limits();
    const instant at = on_.clock.now();
    for (std::size_t i = 0; i < q.charges.size(); ++i) {
      admin::key_state s;
      s.limit = infos[q.limits[i]].name;
      s.key = q.key;
      s.quota = quotas::describe(q.of[i].what->quota.source);
      s.refusing = !q.found[i].admitted;
      s.limit_units = q.found[i].limit;
      // Peeking shows what a request of cost 1 would leave.
      s.remaining = q.found[i].remaining + (q.found[i].admitted ? 1 : 0);
      s.retry_after = q.found[i].retry_after;
      s.reset_after = q.found[i].reset_after;
      if (const auto left = on_.bans.remaining(s.limit, s.key, at); left > duration{}) {
        s.banned_until = at + left;
      }
      states.push_back(std::move(s));
    }
    answer<std::vector<admin::key_state>>(then, std::move(states));
  };
  put(std::move(asked), false);
}

// A store does not answer a reset. The question behind it does, and tells whether it arrived.
void process_operations::reset(const admin::key_reference& what, admin::done<std::size_t> then) {
  const auto now = on_.policy.snapshot();
  const auto limits = meant(now, what);
  if (!limits) return then(limits.error());

  auto asked = question(now, *limits, what.key);
  asked->then = [this, then = std::move(then)](key_question& q) {
    if (q.failed) {
      return answer<std::size_t>(then, error{errc::store_unavailable, "the store does not answer"});
    }
    answer<std::size_t>(then, q.of.size());
  };
  put(std::move(asked), true);
}

void process_operations::ban(const admin::key_reference& what, duration lasts,
                             const std::string& reason, admin::done<admin::ban_info> then) {
  const auto now = on_.policy.snapshot();
  const auto limits = meant(now, what);
  if (!limits) return then(limits.error());
  const instant at = on_.clock.now();
  const std::string why = reason.empty() ? "by an operator" : reason;
  for (const auto limit : *limits) {
    on_.bans.ban(now.spec->limits[limit].name, what.key, at + lasts, at, why);
  }
  then(admin::ban_info{what.limit, what.key, at + lasts, why, false});
}

void process_operations::unban(const admin::key_reference& what, admin::done<std::size_t> then) {
  const auto now = on_.policy.snapshot();
  const auto limits = meant(now, what);
  if (!limits) return then(limits.error());
  std::size_t n = 0;
  for (const auto limit : *limits) {
    n += on_.bans.lift(now.spec->limits[limit].name, what.key) ? 1U : 0U;
  }
  then(n);
}

void process_operations::override_limit(const std::string& limit, const std::string& quota,
                                        duration lasts, admin::done<admin::override_info> then) {
  on_.on_main([this, limit, quota, lasts, then = std::move(then)] {
    auto made = on_.policy.override_limit(limit, quota, lasts, on_.clock.now());
    if (!made) return answer<admin::override_info>(then, made.error());
    answer<admin::override_info>(then,
                                 admin::override_info{made->limit, made->quota, made->expires_at});
  });
}

void process_operations::lift_override(const std::string& limit, admin::done<std::size_t> then) {
  on_.on_main([this, limit, then = std::move(then)] {
    answer<std::size_t>(then, on_.policy.lift_override(limit, on_.clock.now()));
  });
}

void process_operations::reload(admin::done<std::uint64_t> then) {
  on_.on_main([this, then = std::move(then)] {
    if (on_.policy.reload(on_.clock.now())) {
      return answer<std::uint64_t>(then, on_.policy.snapshot().generation);
    }
    answer<std::uint64_t>(then, error{errc::invalid_config, on_.policy.snapshot().reload_error});
  });
}

}  // namespace penstock::cli
