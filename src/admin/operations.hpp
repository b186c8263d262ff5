// What the admin API and the health listener ask of the running process. The composition root
// implements it; the face only speaks HTTP. Every call is made on the admin loop and must not
// block; answers that take time are given later, once, on the admin loop too.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <penstock/clock.hpp>
#include <penstock/result.hpp>

#include "telemetry/fleet_offenders.hpp"

namespace penstock::admin {

template <class T>
using done = std::function<void(result<T>)>;

struct readiness {
  bool ready = true;  // false: send no traffic (starting, draining)
  // Why, or what works less well than it should ("store does not answer: limits decide by
  // on_store_failure"). Texts without secrets.
  std::vector<std::string> reasons;
};

struct listener_info {
  std::string face;     // "gateway", "decision-http", …
  std::string address;  // as bound
};

struct process_status {
  std::string version;
  instant started_at{};
  std::size_t workers = 0;
  std::vector<listener_info> listeners;

  std::string policy_file;  // empty: flags only
  std::uint64_t policy_generation = 1;
  instant policy_loaded_at{};
  std::string reload_error;  // of the latest attempt; empty: it was applied

  std::string store;  // "memory", or the URL without its password
  bool store_up = true;
  bool breaker_open = false;
};

struct override_info {
  std::string limit;
  std::string quota;  // as written in the request
  instant expires_at{};
};

struct limit_info {
  std::string name;
  std::string key_type;
  std::string endpoint;
  std::string algorithm;
  std::string quota;             // as people write it: "100/min burst 20"
  std::string mode;              // "enforce", "shadow", "off"
  std::string on_store_failure;  // "allow", "deny", "local"
  std::optional<override_info> overridden;
};

// A key as the store names it ("address:203.0.113.9"), which is how offenders and refusals show it.
// An empty limit means every limit that counts by such a key.
struct key_reference {
  std::string limit;
  std::string key;
};

struct key_state {
  std::string limit;
  std::string key;
  std::string quota;
  bool refusing = false;  // a request of cost 1 would be refused now
  std::int64_t limit_units = 0;
  std::int64_t remaining = 0;
  duration retry_after{};
  duration reset_after{};
  std::optional<instant> banned_until;
};

struct ban_info {
  std::string limit;  // empty: all
  std::string key;
  instant until{};
  std::string reason;
  bool by_limit = false;  // by a limit's `ban`, not by a person
};

// The offenders of the other processes that share the store.
struct other_offenders {
  std::vector<telemetry::process_offenders> processes;  // one for each other process
  bool whole = true;  // false: there may be others that could not be heard
};

class operations {
 public:
  virtual ~operations() = default;

  [[nodiscard]] virtual readiness ready() = 0;
  [[nodiscard]] virtual process_status status() = 0;
  [[nodiscard]] virtual std::vector<limit_info> limits() = 0;
  [[nodiscard]] virtual std::vector<ban_info> bans() = 0;
  [[nodiscard]] virtual std::vector<override_info> overrides() = 0;

  // What the processes that share the store last told; whole and none where nothing is shared.
  virtual void others_offenders(done<other_offenders> then) = 0;

  // Errors of the calls below: invalid_argument (no such limit, or a key that no limit has the form
  // of; the message says which), store_unavailable.
  virtual void inspect(const key_reference& what, done<std::vector<key_state>> then) = 0;
  // Forgets what is counted. The result is how many counters that were.
  virtual void reset(const key_reference& what, done<std::size_t> then) = 0;
  virtual void ban(const key_reference& what, duration lasts, const std::string& reason,
                   done<ban_info> then) = 0;
  // The result is how many bans ended.
  virtual void unban(const key_reference& what, done<std::size_t> then) = 0;
  // Replaces the limit's quota ("200/min burst 50") for a time, on this process. Errors also:
  // invalid_quota, invalid_config.
  virtual void override_limit(const std::string& limit, const std::string& quota, duration lasts,
                              done<override_info> then) = 0;
  virtual void lift_override(const std::string& limit, done<std::size_t> then) = 0;
  // The result is the generation that is in force afterwards.
  virtual void reload(done<std::uint64_t> then) = 0;
};

}  // namespace penstock::admin
