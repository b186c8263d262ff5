// The compiled policy and the two pure functions around a store call:
// plan(request) -> charges, conclude(verdicts) -> decision with the headers to send.
//
// A policy is immutable and may be shared by all loops; `plan` and `decision` objects belong to one
// request at a time and are reused, so that a warm request allocates nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <penstock/decision.hpp>
#include <penstock/result.hpp>

#include "base/field.hpp"
#include "policy/address.hpp"
#include "policy/spec.hpp"
#include "quota/charge.hpp"

namespace penstock::policy {

// One charge that a caller names instead of describing a request.
struct stated_charge {
  std::string_view limit;            // its name
  std::span<const std::string> key;  // a text "user:42", "header(X-Tenant):a" for each part; parts
                                     // that do not depend on the request (global) may be left out
  std::int64_t cost = -1;            // below 0: as the limit says
};

// What a face knows of a request. All views must outlive the plan made from them.
struct request_view {
  std::string_view method;
  std::string_view path;   // as sent, without the query
  std::string_view query;  // without '?'
  std::string_view host;   // authority, port included
  field_list fields;
  address peer;            // the socket's peer, or what a PROXY header of a trusted peer said
  bool vouched = false;    // the listener answers for its peers: a trusted proxy, listed or not
  std::string_view user;   // said by a caller that is believed, instead of by a field; empty: not
  std::int64_t cost = -1;  // of each charge, instead of what the limits say; below 0: as they say
  // Not empty: exactly these are charged; nothing else here counts. Keys are written as those of
  // requests are: they meet where they name the same. Limits that count failures are charged at
  // once. A limit or key that the policy does not have makes a bad_request.
  std::span<const stated_charge> stated{};
};

// Contents of files named by the policy that are read and watched apart from it (known keys,
// plans).
struct side_tables {
  std::vector<std::string> known_keys_sha256;  // hex, lower case
  std::vector<std::pair<std::string, std::string>>
      plan_of;  // (sha256 hex of key, or user name) -> plan
};

enum class planned : std::uint8_t {
  check,       // ask the store about `charges`; there may be none
  exempt,      // forward without limits
  blocked,     // 403
  deny,        // a key is missing and the limit says deny: refuse as that limit refuses
  bad_request  // 400: ambiguous path, duplicate identity field
};

class compiled_policy;

// One limit of the policy as faces and telemetry may see it.
struct limit_info {
  std::string name;
  std::string key_type;  // key expression as written
  std::string endpoint;  // match.path as written or "*"
  store_failure on_store_failure = store_failure::allow;
  bool shadow = false;
  bool counts_failures = false;  // charged by the response's status, see count_statuses
  std::vector<int> count_statuses;
  // A key that this limit refuses so often is to be banned. Whoever keeps bans charges
  // `ban_counter` (fixed; lives as long as the policy) with the charge's key once for each refusal
  // by this limit: when nothing remains, the key is banned for ban->lasts. See conclude_banned.
  std::optional<ban_spec> ban;
  const counter* ban_counter = nullptr;
};

// A copy's charges still view the keys of the plan they were copied from.
struct plan {
  planned what = planned::check;
  const char* reason = "";  // bad_request, blocked: a static sentence
  std::string path;         // canonical: matched, counted, to be forwarded; empty: it has none
  address client;           // after the trusted walk, before prefix masking
  bool from_trusted_peer = false;  // forwarding fields of the peer may be kept
  std::vector<charge> charges;
  std::vector<std::uint32_t> limit_of;  // for each charge the index of its limit
  std::uint32_t denied_by = 0;          // planned::deny: index of the limit
  bool shadow_denied = false;           // a shadow limit would have refused for a missing key
  std::string keys;                     // storage behind the charges' keys

  // make_plan's own, kept for their capacity.
  struct written_key {
    std::uint32_t key = 0, offset = 0, size = 0;
  };
  struct {
    std::vector<std::uint32_t> matched;
    std::vector<written_key> written;    // keys that several limits share are written once
    std::vector<written_key> of_charge;  // where each charge's key stands in `keys`
    std::string match_path, host, value, route;
  } work;

  void clear() noexcept;  // keeps capacity
};

enum class outcome : std::uint8_t { allow, delay, deny, degraded_allow, degraded_deny };

struct decision {
  outcome what = outcome::allow;
  int status = 200;            // deny: 429 or as configured; degraded_deny: 503
  duration delay{};            // outcome::delay
  std::uint32_t reported = 0;  // index of the limit that headers report; no_limit when none matched
  bool shadow_refused = false;  // some shadow limit would have refused
  std::string headers;  // complete lines "Name: value\r\n" for the client, never Content-Type
  std::string body;     // deny: content for the client
  std::string_view content_type;  // of `body`; static storage or the policy's

  static constexpr std::uint32_t no_limit = UINT32_MAX;
  void clear() noexcept;
};

// Random numbers for jitter; `jitter` is uniform in [0, 2^64).
struct conclude_inputs {
  instant decided_at;
  std::uint64_t jitter = 0;
};

class compiled_policy {
 public:
  virtual ~compiled_policy() = default;

  virtual void make_plan(const request_view& request, plan& out) const = 0;

  // `verdicts` are those of plan.charges, in order. Plans other than planned::check need none. A
  // charge whose counter was replaced (a local share) is told by its counter's id.
  virtual void conclude(const request_view& request, const plan& plan,
                        std::span<const verdict> verdicts, conclude_inputs in,
                        decision& out) const = 0;

  // The store could not answer and the limits in question say deny: 503 with Retry-After: 1.
  virtual void conclude_unavailable(const request_view& request, decision& out) const = 0;

  // The key that `limit` counts the request by is banned for another `remaining`: refused as that
  // limit refuses, with reason "banned".
  virtual void conclude_banned(const request_view& request, std::uint32_t limit, duration remaining,
                               decision& out) const = 0;

  // The counters of the limit's windows for a key as plans write it, by the key's plan where the
  // key tells it. For people who inspect a key.
  [[nodiscard]] virtual std::vector<const counter*> counters_of(std::uint32_t limit,
                                                                std::string_view key) const = 0;

  // One for each limit of the spec, in its order; limits that are off never appear in a plan.
  [[nodiscard]] virtual std::span<const limit_info> limits() const noexcept = 0;
  [[nodiscard]] virtual const client_spec& client() const noexcept = 0;
  // Fields that only a trusted peer may set, lower case: what a face removes from other requests.
  [[nodiscard]] virtual std::span<const std::string> untrusted_fields() const noexcept = 0;
};

// Appends the charges of `plan` that a response with `status` costs: those of limits that count
// failures and were only checked at request time. Each belongs in a batch of its own: a counter
// that is full must not spare the others.
void failures_to_charge(const plan& plan, const compiled_policy& policy, int status,
                        std::vector<charge>& out);

// Errors: invalid_quota or invalid_config naming the limit; a spec that config accepted compiles.
result<std::shared_ptr<const compiled_policy>> compile(const policy_spec& spec,
                                                       const side_tables& tables = {});

}  // namespace penstock::policy
