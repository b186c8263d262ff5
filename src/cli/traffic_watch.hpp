// What a process says now and then of its own traffic: how much of it is one key's, whether its
// clients hide behind a proxy that is not trusted, and its top keys to the others that share the
// store. On the main thread, off the request path.
#pragma once

#include <penstock/clock.hpp>

#include "cli/stores.hpp"
#include "telemetry/metrics.hpp"

namespace penstock::cli {

class traffic_watch {
 public:
  // Both must outlive this object. The gauges are there from now on.
  traffic_watch(telemetry::metrics& metrics, stores& counters, instant now);

  // To be called often; does something every ten seconds.
  void look(instant now);

 private:
  void tell_top_shares(instant now);
  void post_top_keys(instant now);
  void warn_of_shared_addresses(instant now);

  telemetry::metrics& metrics_;
  stores& counters_;
  instant next_look_;
  bool shared_addresses_said_ = false;
};

}  // namespace penstock::cli
