#include "service/service.hpp"

#include <string_view>
#include <utility>

namespace penstock::service {
namespace {

// The answer to a request that no limit ever saw.
void refuse(policy::decision& d, int status, std::string_view error) {
  d.what = policy::outcome::deny;
  d.status = status;
  d.reported = policy::decision::no_limit;
  d.body.assign(R"({"error":")").append(error).append("\"}\n");
  d.content_type = "application/json";
}

}  // namespace

service::service(store::store& store, std::shared_ptr<const policy::compiled_policy> policy,
                 service_options options)
    : store_(store), options_(options), shares_(options.fleet_size), jitter_state_(options.seed) {
  use(std::move(policy));
}

void service::use(std::shared_ptr<const policy::compiled_policy> policy) {
  // An own control block for this loop: loops that share one would fight over its reference count.
  auto holder = std::make_shared<std::shared_ptr<const policy::compiled_policy>>(std::move(policy));
  policy_ = std::shared_ptr<const policy::compiled_policy>(holder, holder->get());
  shares_.clear();
}

std::span<const std::string> service::untrusted_fields() const noexcept {
  return policy_->untrusted_fields();
}

answer service::decide(exchange_context& x, instant now) {
  x.policy = policy_;
  x.decided_by = this;
  x.plan.clear();
  x.decision.clear();
  x.policy->make_plan(x.request, x.plan);

  switch (x.plan.what) {
    case policy::planned::exempt:
      return answer::ready;
    case policy::planned::blocked:
      refuse(x.decision, 403, x.plan.reason);
      return answer::ready;
    case policy::planned::bad_request:
      refuse(x.decision, 400, x.plan.reason);
      return answer::ready;
    case policy::planned::deny:
    case policy::planned::check:
      break;
  }
  static_cast<store::batch&>(x.batch) = {};
  x.batch.owner = &x;
  x.batch.decided_at = now;
  if (x.plan.what == policy::planned::deny) x.plan.charges.clear();
  x.verdicts.resize(x.plan.charges.size());
  if (!x.plan.charges.empty()) {
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

void service::on_store_done(store::batch& b) {
  auto& x = *static_cast<exchange_context::owned_batch&>(b).owner;
  x.waiting = false;
  static_cast<service*>(x.decided_by)->conclude(x);
  x.on_decided(x);
}

void service::conclude(exchange_context& x) {
  if (x.batch.failed) {
    conclude_without_store(x);
    return;
  }
  x.policy->conclude(x.request, x.plan, x.verdicts,
                     {.decided_at = x.batch.decided_at, .jitter = next_jitter()}, x.decision);
}

// The store is away: each limit says what that means for it. One that says deny decides alone;
// those that say local are counted here; those that say allow are not counted at all.
void service::conclude_without_store(exchange_context& x) {
  const auto limits = x.policy->limits();
  x.local_plan = x.plan;
  x.local_plan.charges.clear();
  x.local_plan.limit_of.clear();
  for (std::size_t i = 0; i < x.plan.charges.size(); ++i) {
    const auto& charge = x.plan.charges[i];
    const auto& limit = limits[x.plan.limit_of[i]];
    if (charge.as == role::shadow || limit.on_store_failure == policy::store_failure::allow)
      continue;
    const counter* share = limit.on_store_failure == policy::store_failure::local && options_.local
                               ? shares_.of(*charge.what)
                               : nullptr;
    if (share == nullptr) {
      x.policy->conclude_unavailable(x.request, x.decision);
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
    local.verdicts = x.verdicts;
    const instant asked_at = x.batch.decided_at;
    options_.local->check(local, asked_at);
    x.policy->conclude(x.request, x.local_plan, x.verdicts,
                       {.decided_at = asked_at, .jitter = next_jitter()}, x.decision);
  }
  if (x.decision.what == policy::outcome::allow) {
    x.decision.what = policy::outcome::degraded_allow;
  }
}

void service::cancel(exchange_context& x, instant now) {
  if (x.waiting) {
    x.waiting = false;
    store_.abandon(x.batch);
    return;
  }
  if (x.decision.what != policy::outcome::delay) return;
  x.failures.clear();
  for (const auto& charge : x.plan.charges) {
    if (charge.what->quota.source.kind == algorithm::leaky_bucket) x.failures.push_back(charge);
  }
  store_.refund(x.failures, x.batch.decided_at, now);
}

void service::completed(exchange_context& x, int status, instant now) {
  if (x.plan.what != policy::planned::check) return;
  x.failures.clear();
  policy::failures_to_charge(x.plan, *x.policy, status, x.failures);
  if (x.failures.empty()) return;
  store_.record(x.failures, now);
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
