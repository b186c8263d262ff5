// The decision listener on one loop: sends each request to its endpoint. One `conversation` lives
// with each connection and is used for one request after the other, so that a warm connection
// allocates nothing for a check by a proxy. Lives on one loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "decision/auth/original.hpp"
#include "decision/trust.hpp"
#include "net/http_server.hpp"
#include "net/loop.hpp"
#include "net/timer_wheel.hpp"
#include "service/decider.hpp"
#include "telemetry/metrics.hpp"

namespace penstock::decision {

class face final : public net::http_handler {
 public:
  // `on`, `decides` and `counts` (may be absent) must outlive the face.
  face(net::loop& on, service::decider& decides, trust who, telemetry::metrics* counts)
      : loop_(on), decider_(decides), trust_(who), counts_(counts) {}

  void handle(net::http_exchange& x) override;
  void abandoned(net::http_exchange& x) override;
  void connection_opened() override { count(telemetry::tally::decision_accepted); }
  void connection_closed() override { count(telemetry::tally::decision_closed); }
  void connection_refused() override { count(telemetry::tally::decision_refused); }

 private:
  void count(telemetry::tally t) {
    if (counts_ != nullptr) counts_->add(t);
  }

  net::loop& loop_;
  service::decider& decider_;
  trust trust_;
  telemetry::metrics* counts_;
};

}  // namespace penstock::decision
