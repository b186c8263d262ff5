// Everything a configuration file says, with defaults in place: plain values, no YAML type, nothing
// compiled. load.hpp reads a file into it, overrides.hpp lays flags and environment over it.
// Values are safe to share between threads once they are no longer changed.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <penstock/clock.hpp>

#include "config/grammar/listen.hpp"
#include "config/grammar/store_url.hpp"
#include "config/grammar/upstream.hpp"
#include "policy/spec.hpp"

namespace penstock::config {

// A size that is not limited, for `gateway.max_body: unlimited`.
inline constexpr std::int64_t unlimited_bytes = std::numeric_limits<std::int64_t>::max();

struct memory_config {
  std::int64_t max_bytes = 64LL << 20;  // budget of the table; at least 1 MiB
  friend bool operator==(const memory_config&, const memory_config&) = default;
};

struct store_config {
  std::optional<store_url> url;     // absent: counters live in this process
  duration deadline{20'000};        // of one check; then on_store_failure decides
  std::string prefix = "penstock";  // first part of every Redis key
  std::int64_t key_version = 1;     // second part; a new number starts every counter afresh
  memory_config memory;
  // on_store_failure and fleet_size are read from `store:` too and stand in policy_spec, where they
  // are used; `fleet_size_given` tells a written 1 from the default.
  bool fleet_size_given = false;
  friend bool operator==(const store_config&, const store_config&) = default;
};

enum class access_log_mode : std::uint8_t { off, all, sampled, refused };

struct access_log_config {
  access_log_mode mode = access_log_mode::off;
  std::string path = "-";           // "-": standard output
  std::int64_t sample = 100;        // sampled: one request of so many
  std::int64_t max_lines = 10'000;  // per second; 0: no bound
  friend bool operator==(const access_log_config&, const access_log_config&) = default;
};

struct certificate_config {
  std::string certificate, key;  // PEM files
  friend bool operator==(const certificate_config&, const certificate_config&) = default;
};

enum class tls_least : std::uint8_t { v1_2, v1_3 };

struct tls_config {
  certificate_config first;             // for every name that `sni` does not cover
  std::vector<certificate_config> sni;  // by the names in the certificates
  tls_least least = tls_least::v1_2;
  duration handshake_timeout{5'000'000};
  friend bool operator==(const tls_config&, const tls_config&) = default;
};

struct upstream_tls_config {
  std::string ca;  // PEM file; empty: the system's authorities
  bool verify = true;
  friend bool operator==(const upstream_tls_config&, const upstream_tls_config&) = default;
};

struct gateway_config {
  std::optional<listen_address> listen;  // absent: no gateway
  std::vector<upstream_url> upstreams;   // empty: no gateway
  std::int64_t max_body = unlimited_bytes;
  std::int64_t max_request_line = 8 << 10;
  std::int64_t max_head = 16 << 10;  // request line and fields together
  std::int64_t max_fields = 100;
  std::int64_t max_in_flight = 0;       // requests at upstreams at a time; 0: not limited
  duration head_timeout{10'000'000};    // from the first octet of a request to the end of its head
  duration body_timeout{30'000'000};    // between two reads of a request body
  duration idle_timeout{60'000'000};    // a kept connection without a request
  duration connect_timeout{5'000'000};  // to an upstream
  duration response_timeout{60'000'000};  // between two reads from an upstream
  access_log_config access_log;
  std::optional<tls_config> tls;     // absent: clients speak plain HTTP
  upstream_tls_config upstream_tls;  // for https upstreams
  bool share_port = false;           // other processes may listen on the same port
  friend bool operator==(const gateway_config&, const gateway_config&) = default;
};

// Who may say in header fields what the original request was (X-Forwarded-Method, X-Original-URI
// …).
enum class original_headers : std::uint8_t { local, always, never };

struct decision_config {
  std::optional<listen_address> http, grpc, redis;
  original_headers believe_original =
      original_headers::local;    // local: loopback and unix listeners
  std::string token_sha256;       // 64 hex digits, lower case; empty: whoever reaches http may ask
  std::optional<tls_config> tls;  // of http; absent: plain HTTP
  friend bool operator==(const decision_config&, const decision_config&) = default;
};

struct admin_config {
  std::optional<listen_address> listen;
  std::string token;         // in clear; secret, never printed
  std::string token_sha256;  // 64 hex digits, lower case; of `token` when that is given
  friend bool operator==(const admin_config&, const admin_config&) = default;
};

struct health_config {
  std::optional<listen_address> listen;
  friend bool operator==(const health_config&, const health_config&) = default;
};

// Where the values stand that checks and lints talk about; line 0: not written in the file.
struct limit_places {
  policy::place whole, key, rate, burst, match, on_missing_key;
  std::string path;  // "limits[2]", or the flag that made it
};
struct places {
  policy::place store, store_url, admin, admin_listen, admin_token, gateway, trusted_proxies,
      address_from, identity, limits;
  std::vector<limit_places> limit;  // as many as policy.limits
};

struct config {
  std::int64_t workers = 0;  // event loops, at most 1024; 0: one for each CPU
  store_config store;
  gateway_config gateway;
  decision_config decision;
  admin_config admin;
  health_config health;
  policy::policy_spec policy;

  std::string file;  // as given, for messages; empty: no file
  places at;
};

}  // namespace penstock::config
