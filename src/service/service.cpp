#include "service/service.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace penstock::service {

service::service(store::store& store, std::shared_ptr<const policy::compiled_policy> policy,
                 service_options options)
    : store_(store), options_(options), shares_(options.fleet_size), jitter_state_(options.seed) {
  use(std::move(policy));
}

void service::use(std::shared_ptr<const policy::compiled_policy> policy) {
  // An own object for this loop: loops that share one would fight over its reference count.
  auto next = std::make_shared<in_force>();
  next->policy = std::move(policy);
  std::vector<telemetry::limit_label> labels;
  for (const auto& limit : next->policy->limits()) {
    labels.push_back({limit.name, limit.key_type, limit.endpoint});
    next->bans = next->bans || (limit.ban && options_.bans);
  }
  if (options_.metrics) next->slots = options_.metrics->limits().assign(labels);
  in_force_ = std::move(next);
  shares_.clear();
  if (options_.refusals) options_.refusals->clear();
}

std::span<const std::string> service::untrusted_fields() const noexcept {
  return in_force_->policy->untrusted_fields();
}

answer service::decide(exchange_context& x, instant now) {
  // Aliased: the policy stays while the request needs it, counted on this loop's own object.
  x.policy = {in_force_, in_force_->policy.get()};
  x.decided_by = this;
  x.plan.clear();
  x.decision.clear();
  static_cast<store::batch&>(x.batch) = {};
  x.batch.owner = &x;
  x.batch.why = x.why;
  x.batch.decided_at = now;
  x.asked_at = now;
  x.slots = in_force_->slots;
  x.verdicts.clear();
  x.banned = x.upstream_answered = false;
  x.unasked = policy::decision::no_limit;
  x.policy->make_plan(x.request, x.plan);

  if (options_.bans && !options_.bans->empty() && refuse_banned(x, now)) {
    report(x, x.plan);
    return answer::ready;
  }
  const bool ask = x.plan.what == policy::planned::check && !x.plan.charges.empty();
  if (ask && options_.refusals && refuse_from_memory(x, now)) return answer::ready;
  x.verdicts.resize(ask ? x.plan.charges.size() : 0);
  if (ask) {
    x.batch.charges = x.plan.charges;
    x.batch.verdicts = x.verdicts;
    x.batch.on_done = &on_store_done;
    if (store_.check(x.batch, now) == store::progress::pending) {
      x.waiting = true;
      return answer::pending;
    }
  }
  conclude(x);
  return answer::ready;
}

bool service::refuse_banned(exchange_context& x, instant now) {
  if (x.plan.what != policy::planned::check) return false;
  const auto limits = x.policy->limits();
  for (std::size_t i = 0; i < x.plan.charges.size(); ++i) {
    const auto& limit = limits[x.plan.limit_of[i]];
    if (limit.shadow) continue;
    const auto left = options_.bans->remaining(limit.name, x.plan.charges[i].key, now);
    if (left <= duration{0}) continue;
    x.policy->conclude_banned(x.request, x.plan.limit_of[i], left, x.decision);
    x.banned = true;
    return true;
  }
  return false;
}

// A limit that refused this very charge a moment ago still does: no need to ask, also during an
// outage. What the other limits would say is not known and not reported.
bool service::refuse_from_memory(exchange_context& x, instant now) {
  const auto& charges = x.plan.charges;
  // A limit that counts refusals has to hear of each.
  if (std::ranges::any_of(charges, [](const charge& c) { return c.what->count_denied; }))
    return false;
  x.local_plan.clear();
  for (std::size_t i = 0; i < charges.size(); ++i) {
    if (!refusal_memory::may_remember(charges[i])) continue;
    const verdict* remembered = options_.refusals->recall(charges[i], now);
    if (remembered == nullptr) continue;
    x.local_plan.charges.push_back(charges[i]);
    x.local_plan.limit_of.push_back(x.plan.limit_of[i]);
    x.verdicts.push_back(*remembered);
  }
  if (x.verdicts.empty()) return false;
  x.policy->conclude(x.request, x.local_plan, x.verdicts,
                     {.decided_at = now, .jitter = next_jitter()}, x.decision);
  if (options_.counts) options_.counts->add(telemetry::tally::remembered_refusals);
  report(x, x.local_plan);
  return true;
}

void service::remember_refusals(const exchange_context& x) {
  const instant now = options_.clock ? options_.clock->now() : x.asked_at;
  const auto limits = x.policy->limits();
  for (std::size_t i = 0; i < x.verdicts.size(); ++i) {
    const auto& c = x.plan.charges[i];
    // The refusals of a limit that bans are counted one by one until the ban ends them.
    if (x.verdicts[i].admitted || limits[x.plan.limit_of[i]].ban) continue;
    if (refusal_memory::may_remember(c)) options_.refusals->remember(c, x.verdicts[i], now);
  }
}

void service::on_store_done(store::batch& b) {
  auto& x = *static_cast<exchange_context::owned_batch&>(b).owner;
  x.waiting = false;
  auto& by = *static_cast<service*>(x.decided_by);
  if (!b.failed && by.options_.counts && by.options_.clock) {
    by.options_.counts->store_duration.observe(by.options_.clock->now() - x.asked_at);
  }
  by.conclude(x);
  x.on_decided(x);
}

void service::conclude(exchange_context& x) {
  if (x.batch.failed) {
    conclude_without_store(x);
    return;
  }
  x.policy->conclude(x.request, x.plan, x.verdicts,
                     {.decided_at = x.batch.decided_at, .jitter = next_jitter()}, x.decision);
  if (x.decision.what == policy::outcome::deny && x.why == store::intent::take) {
    count_refusals_towards_bans(x);
    if (options_.refusals) remember_refusals(x);
  }
  report(x, x.plan);
}

// The store is away: each limit says what that means for it. One that says deny decides alone;
// those that say local are counted here; those that say allow are not counted at all.
void service::conclude_without_store(exchange_context& x) {
  const auto limits = x.policy->limits();
  x.local_plan = x.plan;
  x.local_plan.charges.clear();
  x.local_plan.limit_of.clear();
  x.verdicts.clear();
  for (std::size_t i = 0; i < x.plan.charges.size(); ++i) {
    const auto& charge = x.plan.charges[i];
    const auto& limit = limits[x.plan.limit_of[i]];
    if (charge.as == role::shadow) continue;
    if (limit.on_store_failure == policy::store_failure::allow) {
      x.unasked = std::min(x.unasked, x.plan.limit_of[i]);
      continue;
    }
    const counter* share = limit.on_store_failure == policy::store_failure::local && options_.local
                               ? shares_.of(*charge.what)
                               : nullptr;
    if (share == nullptr) {
      x.policy->conclude_unavailable(x.request, x.decision);
      x.unasked = x.plan.limit_of[i];
      x.local_plan.charges.clear();
      report(x, x.local_plan);
      return;
    }
    x.local_plan.charges.push_back(charge);
    x.local_plan.charges.back().what = share;
    x.local_plan.limit_of.push_back(x.plan.limit_of[i]);
  }

  if (!x.local_plan.charges.empty()) {
    x.verdicts.resize(x.local_plan.charges.size());
    store::batch local;
    local.charges = x.local_plan.charges;
    local.why = x.why;
    local.verdicts = x.verdicts;
    options_.local->check(local, x.asked_at);
    x.policy->conclude(x.request, x.local_plan, x.verdicts,
                       {.decided_at = x.asked_at, .jitter = next_jitter()}, x.decision);
  }
  if (x.decision.what == policy::outcome::allow) {
    x.decision.what = policy::outcome::degraded_allow;
  }
  report(x, x.local_plan);
}

void service::count_refusals_towards_bans(exchange_context& x) {
  if (!in_force_->bans) return;
  const auto limits = x.policy->limits();
  std::uint32_t counted = policy::decision::no_limit;
  for (std::size_t i = 0; i < x.verdicts.size(); ++i) {
    const auto index = x.plan.limit_of[i];
    // Several windows of one limit are one refusal.
    if (x.verdicts[i].admitted || index == counted) continue;
    const auto& limit = limits[index];
    if (!limit.ban || limit.shadow) continue;
    counted = index;
    count_towards_ban(limit, x.plan.charges[i], x.batch.decided_at);
  }
}

namespace {

// One refusal on its way to a ban. Lives until the store has answered.
struct ban_question : store::batch {
  std::shared_ptr<const policy::compiled_policy> policy;  // keeps limit and counter
  const policy::limit_info* limit = nullptr;
  ban_table* bans = nullptr;
  telemetry::metrics* metrics = nullptr;
  std::string key;
  charge one;
  verdict answer;

  void conclude() {
    if (failed || (answer.admitted && answer.remaining > 0)) return;
    bans->ban(limit->name, key, decided_at + limit->ban->lasts, decided_at);
    if (metrics == nullptr) return;
    metrics->add(telemetry::tally::bans_by_limit);
    metrics->events().add({.at = decided_at,
                           .kind = telemetry::event_kind::ban,
                           .text = "limit " + limit->name + " bans " + key});
  }
};

}  // namespace

void service::count_towards_ban(const policy::limit_info& limit, const charge& refused,
                                instant at) {
  auto question = std::make_unique<ban_question>();
  question->policy = {in_force_, in_force_->policy.get()};
  question->limit = &limit;
  question->bans = options_.bans;
  question->metrics = options_.metrics;
  question->key = refused.key;
  question->one = {.what = limit.ban_counter, .key = question->key};
  question->charges = {&question->one, 1};
  question->verdicts = {&question->answer, 1};
  question->decided_at = at;
  question->on_done = [](store::batch& b) {
    const std::unique_ptr<ban_question> done(static_cast<ban_question*>(&b));
    done->conclude();
  };
  if (store_.check(*question, at) == store::progress::done) {
    question->conclude();
  } else {
    static_cast<void>(question.release());  // its on_done ends it
  }
}

void service::cancel(exchange_context& x, instant now) {
  if (x.waiting) {
    x.waiting = false;
    store_.abandon(x.batch);
    return;
  }
  if (x.decision.what != policy::outcome::delay) return;
  x.late.clear();
  std::ranges::copy_if(x.plan.charges, std::back_inserter(x.late), [](const charge& c) {
    return c.what->quota.source.kind == algorithm::leaky_bucket;
  });
  store_.refund(x.late, x.batch.decided_at, now);
}

void service::completed(exchange_context& x, int status, instant now) {
  if (options_.counts && x.upstream_answered) {
    options_.counts->upstream_duration.observe(now - x.forwarded_at);
  }
  if (x.plan.what != policy::planned::check) return;
  x.late.clear();
  policy::failures_to_charge(x.plan, *x.policy, status, x.late);
  if (!x.late.empty()) store_.record(x.late, now);
}

void service::report(const exchange_context& x, const policy::plan& plan) {
  if (options_.counts == nullptr || x.why == store::intent::peek) return;
  auto& counts = *options_.counts;
  const auto& d = x.decision;
  // Clients are told of no limit when nobody could be asked; whoever runs the service is.
  const std::uint32_t reported = d.reported == policy::decision::no_limit ? x.unasked : d.reported;
  const auto slot_of = [&](std::uint32_t limit) {
    return limit < x.slots.size() ? x.slots[limit] : telemetry::no_slot;
  };

  switch (x.plan.what) {
    case policy::planned::exempt:
      counts.add(telemetry::tally::requests_exempt);
      return;
    case policy::planned::blocked:
      counts.add(telemetry::tally::requests_blocked);
      return;
    case policy::planned::bad_request:
      counts.add(telemetry::tally::requests_bad);
      return;
    case policy::planned::deny:
    case policy::planned::check:
      break;
  }
  if (x.banned) {
    counts.refused_by_ban(slot_of(reported));
  } else {
    counts.decided(slot_of(reported), static_cast<telemetry::outcome>(d.what));
  }

  const bool refused = d.what == policy::outcome::deny || d.what == policy::outcome::degraded_deny;
  for (std::size_t i = 0; i < x.verdicts.size(); ++i) {
    const auto at = slot_of(plan.limit_of[i]);
    if (plan.charges[i].as == role::shadow) {
      counts.shadow_checked(at, x.verdicts[i].admitted);
      continue;
    }
    counts.checked(at, x.verdicts[i].admitted);
    // Limits that count everything together have no offender.
    if (plan.charges[i].key == "*") continue;
    counts.keys.add(telemetry::ranking::requests, at, plan.charges[i].key, x.asked_at);
    if (!x.verdicts[i].admitted) {
      counts.keys.add(telemetry::ranking::refusals, at, plan.charges[i].key, x.asked_at);
    }
  }
  if (d.what == policy::outcome::delay) counts.delay.observe(d.delay);
  if (options_.clock) counts.check_duration.observe(options_.clock->now() - x.asked_at);
  if (!refused) return;

  client_.clear();
  x.plan.client.append_to(client_);
  telemetry::refusal_view why{.at = x.asked_at,
                              .limit = slot_of(reported),
                              .client = client_,
                              .method = x.request.method,
                              .path = x.plan.path,
                              .status = d.status,
                              .reason = "over the limit"};
  if (d.what == policy::outcome::degraded_deny) why.reason = "store unavailable";
  if (x.plan.what == policy::planned::deny) why.reason = "key missing";
  if (x.banned) why.reason = "banned";
  for (std::size_t i = 0; i < plan.charges.size(); ++i) {
    if (plan.limit_of[i] != d.reported) continue;
    why.key = plan.charges[i].key;
    if (i < x.verdicts.size()) why.retry_after = x.verdicts[i].retry_after;
  }
  counts.refusals.add(why);
}

// splitmix64: jitter needs spread, not secrecy.
std::uint64_t service::next_jitter() noexcept {
  jitter_state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = jitter_state_;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31U);
}

}  // namespace penstock::service
