#include "service/shared_addresses.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

namespace penstock::service {
namespace {

// The address that a key begins with; empty for other keys.
std::string_view address_of(std::string_view key) noexcept {
  constexpr std::string_view prefix = "address:";
  if (!key.starts_with(prefix)) return {};
  key.remove_prefix(prefix.size());
  return key.substr(0, key.find('+'));
}

struct seen_by_limit {
  std::map<std::string_view, std::uint64_t> by_address;
  std::uint64_t total = 0;  // at least
};

std::optional<shared_addresses> shared_in(telemetry::slot limit, const seen_by_limit& seen,
                                          std::uint64_t of) {
  if (of < shared_requests_min) return std::nullopt;
  std::vector<std::pair<std::string_view, std::uint64_t>> most(seen.by_address.begin(),
                                                               seen.by_address.end());
  std::ranges::stable_sort(most, std::ranges::greater{},
                           &std::pair<std::string_view, std::uint64_t>::second);
  shared_addresses found{.limit = limit, .of = of};
  for (const auto& [address, requests] : most) {
    if (found.addresses.size() == shared_addresses_max) return std::nullopt;
    found.addresses.emplace_back(address);
    found.requests += requests;
    if (found.requests > of / 2) return found;
  }
  return std::nullopt;
}

}  // namespace

std::optional<shared_addresses> find_shared_addresses(const telemetry::offender_report& report) {
  std::map<telemetry::slot, seen_by_limit> limits;
  std::uint64_t listed = 0;
  for (const auto& entry : report.top) {
    auto& seen = limits[entry.limit];
    seen.total += entry.at_least;
    listed += entry.at_least;
    if (const auto address = address_of(entry.key); !address.empty()) {
      seen.by_address[address] += entry.at_least;
    }
  }
  // What no entry accounts for may all belong to the limit that is looked at.
  const std::uint64_t unlisted = report.total - std::min(report.total, listed);
  std::optional<shared_addresses> most;
  for (const auto& [limit, seen] : limits) {
    auto found = shared_in(limit, seen, seen.total + unlisted);
    if (found && (!most || found->requests > most->requests)) most = std::move(found);
  }
  return most;
}

std::string describe(const shared_addresses& found) {
  std::string names;
  for (const auto& address : found.addresses) {
    names += (names.empty() ? "" : ", ") + address;
  }
  // Rounded down: "more than half" is at least 50 %.
  return std::to_string(found.requests * 100 / found.of) +
         " % of the requests counted by address come from " + names +
         "; if that is a proxy of yours, add it to client.trusted_proxies, or its clients share "
         "one counter";
}

}  // namespace penstock::service
