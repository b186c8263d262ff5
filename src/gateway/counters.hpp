// What a gateway counts. Each loop writes its own set; anyone may read and add them up. A reader
// sees each figure whole, but not all of one moment.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/cell.hpp"

namespace penstock::gateway {

struct loop_counters {
  cell connections;           // clients connected now
  cell accepted;              // clients, ever
  cell closed;                // of those, the ones that are gone
  cell accept_pauses;         // times that accepting stopped: descriptors, clients, handshakes
  cell idle_closed;           // kept connections that were closed to make room for new clients
  cell handshakes;            // TLS, under way now
  cell handshakes_failed;     // TLS that never came about: alert, end, deadline
  cell handshakes_cut;        // and those that made room for newer ones
  cell requests;              // heads that were complete and well-formed
  cell malformed;             // heads or bodies that were not: 400, 413, 414, 417, 431, 501, 505
  cell refused;               // answered by the policy
  cell in_flight;             // at an upstream now
  cell forwarded;             // sent to an upstream, ever
  cell overloaded;            // 503 because in_flight_max was reached
  cell upstream_connections;  // open now
  cell retries;
  // What became of those that were forwarded and are not in flight any more: each is in one of
  // these, so that none has to be a difference of figures of different moments.
  cell upstream_answered;         // its head came, or 101
  cell upstream_refused;          // 502: there was no connection
  cell upstream_broke_off;        // 502: no answer, or none that can be understood
  cell upstream_timeouts;         // 504
  cell upstream_abandoned;        // the client left first, or its body was refused
  cell clients_gone;              // left before their answer was complete
  cell clients_cut;               // deadline missed: head, body, reading the answer
  cell upstream_new;              // connections to upstreams that were begun, ever
  cell upstream_reused;           // times that a kept one was taken
  std::array<cell, 5> responses;  // by the status' first digit less one
};

// The sum over all loops.
struct gateway_counts {
  std::uint64_t connections = 0, accepted = 0, closed = 0, accept_pauses = 0, idle_closed = 0,
                requests = 0, handshakes = 0, handshakes_cut = 0, handshakes_failed = 0,
                malformed = 0, refused = 0, in_flight = 0, forwarded = 0, overloaded = 0,
                upstream_connections = 0, retries = 0, clients_gone = 0, clients_cut = 0;
  std::uint64_t upstream_answered = 0, upstream_refused = 0, upstream_broke_off = 0,
                upstream_timeouts = 0, upstream_abandoned = 0;
  std::uint64_t log_lines_dropped = 0;  // of the access log: too many, or a reader too slow
  std::uint64_t log_write_errors = 0;   // batches that the system refused
  std::uint64_t upstream_new = 0, upstream_reused = 0;
  std::array<std::uint64_t, 5> responses{};
};

struct upstream_level {
  std::string name;  // as configured: "127.0.0.1:3000"
  bool up = false;
};

}  // namespace penstock::gateway
