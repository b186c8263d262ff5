// Whether most requests seem to come from a few addresses, as they do when a proxy in front is not
// in client.trusted_proxies: then every visitor shares the proxy's counter, and one of them locks
// the others out. Pure; works on the offenders' report, so the request path pays nothing for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "telemetry/offenders.hpp"

namespace penstock::service {

inline constexpr std::uint64_t shared_requests_min = 1000;  // fewer say nothing
inline constexpr std::size_t shared_addresses_max = 5;

struct shared_addresses {
  telemetry::slot limit = telemetry::no_slot;  // the limit that counts by them
  std::vector<std::string> addresses;          // the fewest that are more than half, most first
  std::uint64_t requests = 0;                  // theirs, at least
  std::uint64_t of = 0;                        // of all that the limit counted, at most
};

// `report`: of ranking::requests with every key (n = SIZE_MAX), over any window. Keys that begin
// with an address count, `address + route` too; the limit is the one with most requests. Nothing is
// found when fewer than shared_requests_min were counted, or when more than shared_addresses_max
// addresses are needed for more than half. Errs towards nothing: the report's counts are bounds.
[[nodiscard]] std::optional<shared_addresses> find_shared_addresses(
    const telemetry::offender_report& report);

// One sentence for the log and the events.
[[nodiscard]] std::string describe(const shared_addresses& found);

}  // namespace penstock::service
