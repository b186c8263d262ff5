// The plain model of a policy file: what was written, with defaults filled in and nothing compiled.
// config reads YAML into it, policy::compile turns it into what decides requests. No YAML type
// here.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <penstock/quota.hpp>

namespace penstock::policy {

// Where a value stands in its file, for messages; line 0: it came from a flag or a default.
struct place {
  int line = 0;
  int column = 0;
};

enum class key_kind : std::uint8_t {
  global,
  address,
  api_key,
  user,
  route,
  method,
  host,
  header,
  query,
  cookie,
  constant
};

struct key_part {
  key_kind kind = key_kind::global;
  std::string name;   // header, query, cookie: the name; constant: the text
  bool show = false;  // value stored and shown as it is instead of as SHA-256
};

// `a + b` together, `x | y` the first that the request has.
struct key_expression {
  std::vector<std::vector<key_part>> alternatives;  // never empty, no empty member
  std::string text;                                 // as written
};

enum class limit_mode : std::uint8_t { enforce, shadow, off };
enum class missing_key : std::uint8_t { skip, address, shared, deny };
enum class store_failure : std::uint8_t { allow, deny, local };

struct match_spec {
  std::vector<std::string> methods;  // empty: every method
  std::vector<std::string> hosts;   // empty: every host; "*.example.com" matches one or more labels
  std::string path;                 // empty: every path; "/users/{id}/export", "/api/**", "/a/*/b"
  std::vector<std::string> except;  // patterns of paths that the limit is not for all the same
};

struct cost_spec {
  std::int64_t constant = 1;
  std::string header;  // not empty: the value of this header, believed only from a trusted peer
};

struct ban_spec {
  std::int64_t after = 0;  // refusals …
  duration within{};       // … in this time …
  duration lasts{};        // … and the key is refused for so long
};

enum class body_kind : std::uint8_t { json, problem, text };

struct response_spec {
  int status = 429;
  body_kind body = body_kind::json;
  std::string content_type;                      // text: default text/plain
  std::string text;                              // text: with {limit}, {retry_after}, {name}
  std::map<std::string, std::string> languages;  // text by language tag, chosen by Accept-Language
};

// One entry of a plan table, or the quota written at a limit.
struct rate_spec {
  bool unlimited = false;
  std::vector<quota> quotas;  // one, or several windows that all must admit
};

struct plan_reference {
  key_kind by = key_kind::api_key;  // api_key or user
  std::string from;      // CSV file `key,plan` that is watched; empty: from identity's list
  std::string fallback;  // plan of keys that the file does not name; must exist
};

struct limit_spec {
  std::string name;
  place at;
  match_spec match;
  key_expression key;
  rate_spec rate;  // ignored when `plan` is set
  std::optional<plan_reference> plan;
  limit_mode mode = limit_mode::enforce;
  missing_key on_missing_key = missing_key::skip;
  std::optional<store_failure> on_store_failure;
  bool count_denied = false;
  bool shared_route = false;
  std::vector<int> count_statuses;  // not empty: only responses with these statuses count
  cost_spec cost;
  std::optional<ban_spec> ban;
  std::optional<response_spec> response;
  duration retry_jitter{};  // up to this much is added to Retry-After
};

enum class address_source : std::uint8_t {
  peer,
  x_forwarded_for,
  forwarded,
  x_real_ip,
  proxy_protocol
};

struct client_spec {
  std::vector<std::string> trusted_proxies;  // addresses and CIDRs
  address_source address_from = address_source::x_forwarded_for;
  int ipv4_prefix = 32;
  int ipv6_prefix = 64;
};

enum class identity_source : std::uint8_t { header, query, cookie };

struct api_key_spec {
  identity_source from = identity_source::header;
  std::string name;   // header, parameter or cookie name
  std::string known;  // file with one key, or its `sha256:` hex, a line; empty: any
};

struct identity_spec {
  std::optional<api_key_spec> api_key;
  std::string user_header;  // empty: no user identity
};

struct exempt_spec {
  place at;
  std::vector<std::string> addresses;
  std::string header_name;                   // with header_sha256: secret in a header
  std::string header_sha256;                 // hex
  std::vector<std::string> api_keys_sha256;  // hex
  std::string path;                          // pattern
};

struct header_names {
  std::string limit = "X-RateLimit-Limit", remaining = "X-RateLimit-Remaining",
              reset = "X-RateLimit-Reset", window = "X-RateLimit-Window";
};

struct responses_spec {
  bool ietf = true;
  bool x_ratelimit = true;
  bool on_success = true;      // also on admitted requests
  bool shadow_header = false;  // tell would-be refusals in X-RateLimit-Shadow
  header_names names;
  response_spec refused;
};

struct paths_spec {
  bool fold_case = false;
  bool keep_encoded_slash = false;
};

struct policy_spec {
  client_spec client;
  identity_spec identity;
  std::vector<exempt_spec> exempt;
  std::vector<std::string> block;  // addresses and CIDRs that are always refused (403)
  responses_spec responses;
  paths_spec paths;
  bool shadow_all = false;  // every limit behaves as mode: shadow
  store_failure on_store_failure = store_failure::allow;
  std::int64_t fleet_size = 1;
  std::map<std::string, rate_spec> plans;
  std::vector<limit_spec> limits;
};

}  // namespace penstock::policy
