#include "gateway/upstream_pool.hpp"

#include <algorithm>
#include <utility>

#include "gateway/upstream_connection.hpp"
#include "gateway/worker.hpp"

namespace penstock::gateway {

upstream_pool::upstream_pool(worker& owner, std::vector<upstream_target> targets)
    : owner_(owner), targets_(std::move(targets)), latest_(targets_.size()) {
  for (auto& target : targets_) target.kept.reserve(owner_.options.kept_upstream_max);
}

upstream_target& upstream_pool::choose(const upstream_target* avoid) {
  if (targets_.size() == 1) return targets_.front();
  const auto now = net::loop::coarse_now();
  // When all are down, the one that has waited longest is asked: better a try than a certain 502.
  upstream_target* soonest = nullptr;
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    turn_ = turn_ + 1 == targets_.size() ? 0 : turn_ + 1;
    auto& target = targets_[turn_];
    if (&target == avoid) continue;
    if (target.health.take_turn(now)) return target;
    if (soonest == nullptr || target.health.down_until() < soonest->health.down_until()) {
      soonest = &target;
    }
  }
  return soonest != nullptr ? *soonest : targets_.front();  // there is only the one to avoid
}

upstream_connection& upstream_pool::take(exchange& user, kind want, const upstream_target* avoid) {
  auto& target = choose(avoid);
  if (want == kind::any && !target.kept.empty()) {
    auto& connection = *target.kept.back();
    target.kept.pop_back();
    ++owner_.counters.upstream_reused;
    connection.reuse(user);
    return connection;
  }
  ++owner_.counters.upstream_new;
  auto* connection = new upstream_connection(owner_, target);  // owned by the graveyard's rule
  connection->connect(user);
  return *connection;
}

void upstream_pool::succeeded(upstream_target& target, std::int64_t now) noexcept {
  target.health.succeeded();
  latest_[static_cast<std::size_t>(&target - targets_.data())].store(now,
                                                                     std::memory_order_relaxed);
}

void upstream_pool::failed(upstream_target& target, std::int64_t now) noexcept {
  target.health.failed(now);
  latest_[static_cast<std::size_t>(&target - targets_.data())].store(-now,
                                                                     std::memory_order_relaxed);
}

void upstream_pool::give(upstream_connection& connection) {
  auto& kept = connection.target().kept;
  if (kept.size() >= owner_.options.kept_upstream_max || owner_.draining()) {
    connection.close();
    return;
  }
  kept.push_back(&connection);
  connection.keep();
}

void upstream_pool::forget(upstream_connection& connection) {
  auto& kept = connection.target().kept;
  const auto it = std::find(kept.begin(), kept.end(), &connection);
  if (it != kept.end()) kept.erase(it);
}

void upstream_pool::close_kept() {
  for (auto& target : targets_) {
    for (auto* connection : std::exchange(target.kept, {})) connection->close();
  }
}

}  // namespace penstock::gateway
