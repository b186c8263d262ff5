// All telemetry of one process: the loops' blocks, what is counted beside them, offenders, recent
// refusals and events. One object for the life of the process: it outlives every policy, so
// counters only ever grow. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <penstock/clock.hpp>

#include "base/siphash.hpp"
#include "telemetry/exposition.hpp"
#include "telemetry/loop_metrics.hpp"
#include "telemetry/offenders.hpp"

namespace penstock::telemetry {

struct limit_totals {
  slot at = no_slot;
  limit_label label;
  std::uint64_t admitted = 0;
  std::uint64_t refused = 0;
  std::uint64_t shadow_refused = 0;
  std::array<std::uint64_t, outcomes> decided{};
};

// Sums over all loops.
struct totals {
  std::array<std::uint64_t, static_cast<std::size_t>(tally::count_)> tallies{};
  std::vector<limit_totals> limits;
  histogram_sum check_duration, store_duration, upstream_duration, delay;

  [[nodiscard]] std::uint64_t of(tally t) const noexcept {
    return tallies[static_cast<std::size_t>(t)];
  }
};

class metrics {
 public:
  // `secret`: random; keeps clients from steering the offenders' sketches.
  explicit metrics(const hash128& secret);

  // A block for one more event loop; valid as long as this object.
  loop_metrics& add_loop();

  [[nodiscard]] limit_slots& limits() noexcept { return limits_; }
  [[nodiscard]] event_ring& events() noexcept { return events_; }

  // For what is rare and has no loop of its own; from any thread.
  void add(tally t, std::uint64_t n = 1) noexcept;

  // The value of a gauge without labels (or of a counter that somebody else keeps). A metric that
  // was never set is absent from the scrape.
  void set(metric m, double value) noexcept;

  // Adds what somebody else counts to a tally, in scrapes and in sum(). `read` must only grow, may
  // be called from any thread and must outlive this object.
  void add_counter(tally t, std::function<std::uint64_t()> read);

  // Called on the scraping thread at every scrape, for values that are cheap to read but not worth
  // pushing. What it captures must outlive this object; it must not call back into this object.
  void add_source(std::function<void(exposition&)> source);

  // The answer to GET /metrics.
  [[nodiscard]] std::string scrape() const;

  [[nodiscard]] totals sum() const;
  // The value given to set(); NaN when it was never set.
  [[nodiscard]] double level(metric m) const noexcept;

  // See offenders. collect() is to be called at least every ten seconds by whoever reports.
  void collect(instant now);
  [[nodiscard]] offender_report top(ranking r, window w, std::size_t n, instant now);

  // Of all loops, the latest first, at most `n`.
  [[nodiscard]] std::vector<refusal> refusals(std::size_t n) const;

 private:
  [[nodiscard]] std::vector<loop_metrics*> loops() const;
  [[nodiscard]] std::vector<key_stream*> streams() const;

  hash128 secret_;
  mutable std::mutex mutex_;  // of loops_, counters_ and sources_
  std::vector<std::unique_ptr<loop_metrics>> loops_;
  std::vector<std::pair<tally, std::function<std::uint64_t()>>> counters_;
  std::vector<std::function<void(exposition&)>> sources_;

  limit_slots limits_;
  event_ring events_;
  offenders offenders_;
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(tally::count_)> tallies_{};
  std::array<std::atomic<double>, static_cast<std::size_t>(metric::count_)> levels_;
};

}  // namespace penstock::telemetry
