// /livez, /readyz and /metrics: read-only, for probes and Prometheus. Serves the health listener
// and the same paths of the admin listener.
#pragma once

#include <string_view>

#include "admin/operations.hpp"
#include "net/http_server.hpp"
#include "telemetry/metrics.hpp"

namespace penstock::admin {

// Answers and returns true when `path` is one of the three.
bool answer_health(net::http_exchange& x, std::string_view path, operations& asks,
                   telemetry::metrics& counts);

class health_face final : public net::http_handler {
 public:
  // Both must outlive the face.
  health_face(operations& asks, telemetry::metrics& counts) : asks_(asks), counts_(counts) {}

  void handle(net::http_exchange& x) override;
  void connection_opened() override { counts_.add(telemetry::tally::health_accepted); }
  void connection_closed() override { counts_.add(telemetry::tally::health_closed); }
  void connection_refused() override { counts_.add(telemetry::tally::health_refused); }

 private:
  operations& asks_;
  telemetry::metrics& counts_;
};

}  // namespace penstock::admin
