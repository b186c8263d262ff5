// The one orchestrator: plan -> bans -> store -> conclude -> telemetry. Every face of one event
// loop shares one service; nothing here is thread-safe, and nothing needs to be.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "service/ban_table.hpp"
#include "service/decider.hpp"
#include "service/local_shares.hpp"
#include "service/refusal_memory.hpp"
#include "telemetry/metrics.hpp"

namespace penstock::service {

// All pointers may be absent, and what they are for is then left out; what they point to must
// outlive the service.
struct service_options {
  // Counts for limits that say `on_store_failure: local`; absent: they refuse instead.
  store::store* local = nullptr;
  std::int64_t fleet_size = 1;                // processes that share the store
  std::uint64_t seed = 1;                     // of the jitter
  ban_table* bans = nullptr;                  // shared by all loops; absent: nobody is banned
  telemetry::metrics* metrics = nullptr;      // gives limits their places
  telemetry::loop_metrics* counts = nullptr;  // this loop's; needs `metrics`
  const steady_wall_clock* clock = nullptr;   // measures how long decisions take
  refusal_memory* refusals = nullptr;         // of this loop; for stores that are far away
};

class service final : public decider {
 public:
  // `store` must outlive the service.
  service(store::store& store, std::shared_ptr<const policy::compiled_policy> policy,
          service_options options = {});

  // From now on requests are decided by `policy`; those in flight keep the one they began with.
  void use(std::shared_ptr<const policy::compiled_policy> policy);

  answer decide(exchange_context& x, instant now) override;
  void cancel(exchange_context& x, instant now) override;
  void completed(exchange_context& x, int status, instant now) override;
  [[nodiscard]] std::span<const std::string> untrusted_fields() const noexcept override;

 private:
  // What this loop decides by: a policy and its limits' places in the metrics.
  struct in_force {
    std::shared_ptr<const policy::compiled_policy> policy;
    std::vector<telemetry::slot> slots;
    bool bans = false;  // some limit bans
  };

  static void on_store_done(store::batch& b);
  bool refuse_banned(exchange_context& x, instant now);
  bool refuse_from_memory(exchange_context& x, instant now);
  void conclude(exchange_context& x);
  void remember_refusals(const exchange_context& x);
  void conclude_without_store(exchange_context& x);
  void count_refusals_towards_bans(exchange_context& x);
  void count_towards_ban(const policy::limit_info& limit, const charge& refused, instant at);
  void report(const exchange_context& x, const policy::plan& plan);
  std::uint64_t next_jitter() noexcept;

  store::store& store_;
  service_options options_;
  std::shared_ptr<const in_force> in_force_;
  local_shares shares_;
  std::uint64_t jitter_state_;
  std::string client_;  // scratch
};

}  // namespace penstock::service
