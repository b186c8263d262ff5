// The one orchestrator: plan -> store -> conclude. Every face of one event loop shares one service;
// nothing here is thread-safe, and nothing needs to be.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "service/decider.hpp"
#include "service/local_shares.hpp"

namespace penstock::service {

struct service_options {
  // Counts for limits that say `on_store_failure: local`; nullptr: they refuse instead. Must
  // outlive the service.
  store::store* local = nullptr;
  std::int64_t fleet_size = 1;  // processes that share the store
  std::uint64_t seed = 1;       // of the jitter
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
  static void on_store_done(store::batch& b);
  void conclude(exchange_context& x);
  void conclude_without_store(exchange_context& x);
  std::uint64_t next_jitter() noexcept;

  store::store& store_;
  service_options options_;
  std::shared_ptr<const policy::compiled_policy> policy_;
  local_shares shares_;
  std::uint64_t jitter_state_;
};

}  // namespace penstock::service
