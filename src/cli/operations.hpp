// What the admin API can see and do of this process. Called on the control loop; work on counters
// is done on a serving loop, changes of the policy on the main thread, and their answers come back
// to the control loop.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "admin/operations.hpp"
#include "cli/live_policy.hpp"
#include "cli/stores.hpp"
#include "net/loop.hpp"
#include "service/ban_table.hpp"

namespace penstock::cli {

struct key_question;  // to the store: what counters of one key hold

// What operations work on; everything outlives them.
struct operated {
  net::loop& serving;      // loop 0
  store::store& counters;  // its store
  stores& all_stores;
  live_policy& policy;
  service::ban_table& bans;
  const steady_wall_clock& clock;
  std::atomic<bool>& draining;
  std::function<void(std::function<void()>)> on_main;  // runs work on the main thread
  admin::process_status fixed;  // version, start, workers, listeners, policy file, store
};

class process_operations final : public admin::operations {
 public:
  explicit process_operations(operated on) : on_(std::move(on)) {}

  // Before anything is asked: what was listened on, and the loop that asks.
  void begin(std::vector<admin::listener_info> listeners, net::loop& control) {
    on_.fixed.listeners = std::move(listeners);
    control_ = &control;
  }

  admin::readiness ready() override;
  admin::process_status status() override;
  std::vector<admin::limit_info> limits() override;
  std::vector<admin::ban_info> bans() override;
  std::vector<admin::override_info> overrides() override;
  void others_offenders(admin::done<admin::other_offenders> then) override;
  void inspect(const admin::key_reference& what,
               admin::done<std::vector<admin::key_state>> then) override;
  void reset(const admin::key_reference& what, admin::done<std::size_t> then) override;
  void ban(const admin::key_reference& what, duration lasts, const std::string& reason,
           admin::done<admin::ban_info> then) override;
  void unban(const admin::key_reference& what, admin::done<std::size_t> then) override;
  void override_limit(const std::string& limit, const std::string& quota, duration lasts,
                      admin::done<admin::override_info> then) override;
  void lift_override(const std::string& limit, admin::done<std::size_t> then) override;
  void reload(admin::done<std::uint64_t> then) override;

 private:
  // Indices of the limits that `what` means. Errors: invalid_argument.
  result<std::vector<std::uint32_t>> meant(const policy_snapshot& now,
                                           const admin::key_reference& what) const;
  [[nodiscard]] std::unique_ptr<key_question> question(const policy_snapshot& now,
                                                       const std::vector<std::uint32_t>& limits,
                                                       const std::string& key) const;
  // Puts it to the store on the serving loop, after forgetting those counters when told so.
  void put(std::unique_ptr<key_question> asked, bool forget);
  template <class T>
  void answer(admin::done<T> then, result<T> value);

  operated on_;
  net::loop* control_ = nullptr;
};

}  // namespace penstock::cli
