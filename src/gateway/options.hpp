// What a gateway is told: addresses, bounds and deadlines, with defaults in place. Plain
// values; the composition root fills them from the configuration.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "net/endpoint.hpp"
#include "net/listener_source.hpp"
#include "net/tls.hpp"
#include "policy/address.hpp"

namespace penstock::gateway {

struct upstream_options {
  net::endpoint where{};
  std::string
      authority{};  // Host for requests that carry none (HTTP/1.0); empty: the endpoint's text
  bool tls = false;
};

enum class access_log_mode : std::uint8_t { off, all, sampled, refused };

struct access_log_options {
  access_log_mode mode = access_log_mode::off;
  std::string path = "-";      // "-": standard output
  std::uint64_t sample = 100;  // sampled: one request of so many
  std::uint64_t lines_max =
      10'000;  // per second, all loops together; more are counted; 0: no bound
};

struct gateway_options {
  using milliseconds = std::chrono::milliseconds;

  std::vector<net::endpoint> listen;          // at least one
  net::listener_source* listeners = nullptr;  // where they come from, at open(); null: the system
  std::vector<upstream_options> upstreams;    // at least one; served in turn

  // Peers whose connections begin with a PROXY protocol header (1 or 2), and must; it names the
  // client in their stead. Empty: nobody's do. Called on every loop.
  std::function<bool(const policy::address&)> proxy_protocol_from;

  std::optional<net::tls_server_options> tls{};  // clients speak TLS; absent: plain HTTP
  net::tls_client_options upstream_tls{};        // for upstreams that say so

  // Bounds of one request. Above: 414, 431, 431, 413.
  std::size_t request_line_max = 8U << 10U;
  std::size_t head_max = 16U << 10U;  // at most 60 KiB
  std::size_t fields_max = 100;
  std::uint64_t body_max = UINT64_MAX;

  // A client's deadlines; all are absolute for their phase, so octets that trickle in do not help.
  milliseconds handshake_timeout{5'000};
  milliseconds head_timeout{10'000};  // from the first octet of a request to the end of its head
  milliseconds body_grace{20'000};    // a body may take this long …
  std::uint32_t body_rate_min = 500;  // … plus a second for each so many octets
  milliseconds idle_timeout{60'000};  // a kept connection without a request
  milliseconds write_grace{20'000};   // the same two for what the client must read while we wait
  std::uint32_t write_rate_min = 500;
  milliseconds linger_timeout{2'000};   // after an early answer: wait for the client's close …
  std::size_t linger_max = 64U << 10U;  // … and drop at most so many octets

  // An upstream's deadlines.
  milliseconds connect_timeout{5'000};
  milliseconds response_timeout{60'000};  // to the head of the answer, and between two of its reads
  milliseconds continue_timeout{1'000};   // then we answer Expect: 100-continue ourselves
  milliseconds tunnel_timeout{3'600'000};  // an upgraded connection on which nothing moves

  // Upstream connections kept for the next request, per loop and upstream.
  std::size_t kept_upstream_max = 512;
  milliseconds kept_upstream_timeout{4'000};  // below the 5 s after which common servers close
  // Failures in a row after which an upstream is left out, for 1 s, 2 s … 30 s, while others work.
  std::uint32_t failures_until_down = 3;

  std::size_t connections_max = 0;  // clients, all loops together; 0: from the descriptor limit
  // TLS handshakes under way, all loops together; 0: no bound. Above it the oldest makes room, and
  // when that is young, too, clients wait in the system's queue.
  std::size_t handshakes_max = 1024;
  std::size_t in_flight_max = 0;  // requests at upstreams, all loops together; 503 above; 0: none
  int backlog = 4096;
  bool share_port = false;  // other processes may listen on the same port

  access_log_options access_log{};

  std::string via = "penstock";  // name in Via
  milliseconds drain_timeout{30'000};
};

}  // namespace penstock::gateway
