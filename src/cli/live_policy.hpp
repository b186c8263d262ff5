// The policy that a process decides by, and how it changes: reloads of the whole, and overrides of
// one limit's quota for a time. Every change compiles first and is then given to all loops, each of
// which takes it between two requests. Changes are made on one thread (the main one); what is in
// force may be read from any.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <penstock/clock.hpp>
#include <penstock/result.hpp>

#include "cli/settings_source.hpp"
#include "net/loop.hpp"
#include "service/service.hpp"
#include "telemetry/metrics.hpp"

namespace penstock::cli {

struct quota_override {
  std::string limit;
  std::string quota;  // as given: "200/min burst 50"
  instant expires_at{};
};

// One moment of it, for reports.
struct policy_snapshot {
  std::shared_ptr<const policy::compiled_policy> policy;
  std::shared_ptr<const policy::policy_spec> spec;  // overrides included
  std::vector<quota_override> overrides;
  std::uint64_t generation = 1;
  instant loaded_at{};
  std::string reload_error;  // of the latest attempt; empty: it was applied
};

class live_policy {
 public:
  // `loops` and `services` are of the same length and outlive this object.
  live_policy(settings first, settings_source source, instant now, telemetry::metrics& metrics);

  // To whom changes are given from now on.
  void serve(std::deque<net::loop>& loops, std::deque<service::service>& services);

  // Reads the settings again. False: they have an error, which is said; all stays as it was.
  bool reload(instant now);
  // The quota of one limit, for a time. Errors: invalid_argument (no such limit), invalid_quota,
  // invalid_config.
  result<quota_override> override_limit(const std::string& limit, const std::string& quota,
                                        duration lasts, instant now);
  // How many ended: 0 or 1.
  std::size_t lift_override(const std::string& limit, instant now);
  // Ends overrides whose time is over. To be called a few times a second.
  void expire_overrides(instant now);

  [[nodiscard]] policy_snapshot snapshot() const;
  [[nodiscard]] const config::config& config() const noexcept { return settings_.value; }
  [[nodiscard]] const std::vector<std::string>& files() const noexcept { return source_.files(); }

 private:
  // The spec with overrides laid over it.
  [[nodiscard]] policy::policy_spec effective() const;
  void put_in_force(std::shared_ptr<const policy::compiled_policy> next, policy::policy_spec spec);

  settings settings_;
  settings_source source_;
  std::map<std::string, std::pair<quota_override, policy::rate_spec>> overrides_;
  telemetry::metrics& metrics_;
  std::deque<net::loop>* loops_ = nullptr;
  std::deque<service::service>* services_ = nullptr;

  mutable std::mutex mutex_;  // of snapshot_
  policy_snapshot snapshot_;
};

}  // namespace penstock::cli
