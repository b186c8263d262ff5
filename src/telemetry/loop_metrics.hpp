// What one event loop counts. Every loop has its own block and is its only writer; a scrape adds
// the blocks up. Nothing here allocates or takes a lock that another loop takes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "telemetry/catalogue.hpp"
#include "telemetry/cell.hpp"
#include "telemetry/histogram.hpp"
#include "telemetry/key_stream.hpp"
#include "telemetry/limit_slots.hpp"
#include "telemetry/recent.hpp"

namespace penstock::telemetry {

// What became of a request that limits decided; the values are those of policy::outcome.
enum class outcome : std::uint8_t { allow, delay, deny, degraded_allow, degraded_deny };
inline constexpr std::size_t outcomes = 5;

// Exactly one cache line, so that limits do not disturb each other.
struct alignas(cache_line) limit_cells {
  cell admitted;
  cell refused;
  cell shadow_refused;
  std::array<cell, outcomes> decided;
};
static_assert(sizeof(limit_cells) == cache_line);

class alignas(cache_line) loop_metrics {
 public:
  explicit loop_metrics(const hash128& secret)
      : keys(secret), limits_(std::make_unique<limit_cells[]>(slot_count)) {}

  // One charge of a request was checked against an enforcing limit.
  void checked(slot l, bool admitted) noexcept {
    limit_cells& c = limits_[l];
    (admitted ? c.admitted : c.refused).add();
  }
  // The same for a limit in shadow mode; only its refusals are of interest.
  void shadow_checked(slot l, bool admitted) noexcept {
    if (!admitted) limits_[l].shadow_refused.add();
  }

  // The request's outcome, once per request. `reported` is the limit that the client is told of,
  // no_slot when none matched.
  void decided(slot reported, outcome o) noexcept {
    const auto i = static_cast<std::size_t>(o);
    tallies_[i].add();  // the first tallies are the outcomes, in order
    if (reported != no_slot) limits_[reported].decided[i].add();
  }

  // The same for a request refused because its key is banned; `l` is the limit that banned it.
  void refused_by_ban(slot l) noexcept {
    add(tally::requests_banned);
    if (l != no_slot) limits_[l].decided[static_cast<std::size_t>(outcome::deny)].add();
  }

  void add(tally t, std::uint64_t n = 1) noexcept { tallies_[static_cast<std::size_t>(t)].add(n); }

  histogram check_duration{check_bounds()};
  histogram store_duration{network_bounds()};
  histogram upstream_duration{network_bounds()};
  histogram delay{delay_bounds()};
  key_stream keys;
  refusal_ring refusals;

  // For the scrape.
  [[nodiscard]] const limit_cells& of(slot l) const noexcept { return limits_[l]; }
  [[nodiscard]] std::uint64_t of(tally t) const noexcept {
    return tallies_[static_cast<std::size_t>(t)].get();
  }

 private:
  std::array<cell, static_cast<std::size_t>(tally::count_)> tallies_{};
  std::unique_ptr<limit_cells[]> limits_;
};

static_assert(static_cast<std::size_t>(tally::requests_degraded_refused) + 1 == outcomes);

}  // namespace penstock::telemetry
