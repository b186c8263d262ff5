// What the decision service is told. Plain values; the composition root fills them from the
// configuration.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

#include "base/sha256.hpp"
#include "net/endpoint.hpp"
#include "net/listener_source.hpp"
#include "net/tls.hpp"
#include "telemetry/metrics.hpp"

namespace penstock::decision {

// Who is believed about the original request (its method, URI and host) and about the client's
// address, when header fields say it.
enum class belief : std::uint8_t {
  local,   // whoever reaches a loopback or unix listener
  always,  // the original request: everybody; the client's address: trusted_proxies, and as `local`
  never    // the original request: nobody; the client's address: trusted_proxies
};

struct tls_options {
  net::tls_server_options server{};
  std::chrono::milliseconds handshake_timeout{5'000};  // from the connection to the handshake's end
};

struct server_options {
  net::endpoint listen{};
  net::listener_source* listeners = nullptr;  // where it comes from, at open(); null: the system
  belief believe = belief::local;
  telemetry::metrics* counts = nullptr;  // absent: connections are not counted
  // SHA-256 of a secret that every check must carry. Who has it is believed as if it were local.
  std::optional<sha256_digest> token{};
  std::optional<tls_options> tls{};  // absent: plain HTTP

  std::size_t body_max = 256U << 10U;  // a batch of 100 checks fits many times; 413 above
  std::size_t connections_max = 4096;  // on each loop
  std::chrono::milliseconds idle_timeout{75'000};  // above the 60 s for which nginx keeps its own
  int backlog = 4096;
  std::chrono::milliseconds drain_timeout{30'000};
};

}  // namespace penstock::decision
