#include "telemetry/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace penstock::telemetry {
namespace {

constexpr std::array<std::string_view, outcomes> outcome_names = {
    "allowed", "delayed", "refused", "degraded_allowed", "degraded_refused"};

void write_limits(exposition& out, const totals& t) {
  // A limit whose key or path was changed has two slots and one name.
  std::map<std::string_view, limit_totals> by_name;
  std::map<std::pair<std::string_view, std::string_view>, std::uint64_t> exceeded;
  for (const limit_totals& l : t.limits) {
    limit_totals& sum = by_name[l.label.name];
    sum.admitted += l.admitted;
    sum.refused += l.refused;
    sum.shadow_refused += l.shadow_refused;
    for (std::size_t i = 0; i < outcomes; ++i) sum.decided[i] += l.decided[i];
    // Also a refusal because the store failed is a refused request.
    exceeded[{l.label.key_type, l.label.endpoint}] +=
        l.decided[static_cast<std::size_t>(outcome::deny)] +
        l.decided[static_cast<std::size_t>(outcome::degraded_deny)];
  }
  for (const auto& [labels, n] : exceeded) {
    out.value(metric::exceeded, n, labels.first, labels.second);
  }
  for (const auto& [name, l] : by_name) {
    for (std::size_t i = 0; i < outcomes; ++i) {
      out.value(metric::decisions, l.decided[i], name, outcome_names[i]);
    }
    out.value(metric::checks, l.admitted, name, "admitted");
    out.value(metric::checks, l.refused, name, "refused");
    out.value(metric::shadow_refusals, l.shadow_refused, name);
  }
}

void write_tallies(exposition& out, const totals& t) {
  for (std::size_t i = 0; i < t.tallies.size(); ++i) {
    const tally_series& s = series_of(static_cast<tally>(i));
    out.value(s.of, t.tallies[i], s.value);
  }
  const auto open = [&](std::string_view listener, tally accepted, tally closed) {
    // Read one after the other: a connection may have ended in between.
    const std::uint64_t ended = std::min(t.of(closed), t.of(accepted));
    out.value(metric::connections_open, t.of(accepted) - ended, listener);
  };
  open("gateway", tally::gateway_accepted, tally::gateway_closed);
  open("decision", tally::decision_accepted, tally::decision_closed);
  open("admin", tally::admin_accepted, tally::admin_closed);
  open("health", tally::health_accepted, tally::health_closed);
}

}  // namespace

metrics::metrics(const hash128& secret) : secret_(secret) {
  for (auto& l : levels_) l.store(std::numeric_limits<double>::quiet_NaN());
}

loop_metrics& metrics::add_loop() {
  const std::lock_guard lock(mutex_);
  return *loops_.emplace_back(std::make_unique<loop_metrics>(secret_));
}

void metrics::add(tally t, std::uint64_t n) noexcept {
  tallies_[static_cast<std::size_t>(t)].fetch_add(n, std::memory_order_relaxed);
}

void metrics::set(metric m, double value) noexcept {
  levels_[static_cast<std::size_t>(m)].store(value, std::memory_order_relaxed);
}

double metrics::level(metric m) const noexcept {
  return levels_[static_cast<std::size_t>(m)].load(std::memory_order_relaxed);
}

void metrics::add_counter(tally t, std::function<std::uint64_t()> read) {
  const std::lock_guard lock(mutex_);
  counters_.emplace_back(t, std::move(read));
}

void metrics::add_source(std::function<void(exposition&)> source) {
  const std::lock_guard lock(mutex_);
  sources_.push_back(std::move(source));
}

std::vector<loop_metrics*> metrics::loops() const {
  const std::lock_guard lock(mutex_);
  std::vector<loop_metrics*> out;
  for (const auto& l : loops_) out.push_back(l.get());
  return out;
}

std::vector<key_stream*> metrics::streams() const {
  std::vector<key_stream*> out;
  for (loop_metrics* const l : loops()) out.push_back(&l->keys);
  return out;
}

totals metrics::sum() const {
  totals out;
  for (const auto& e : limits_.entries()) out.limits.push_back({.at = e.at, .label = e.label});
  for (std::size_t i = 0; i < out.tallies.size(); ++i) {
    out.tallies[i] = tallies_[i].load(std::memory_order_relaxed);
  }
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [t, read] : counters_) out.tallies[static_cast<std::size_t>(t)] += read();
  }
  out.check_duration.bounds = check_bounds();
  out.store_duration.bounds = network_bounds();
  out.upstream_duration.bounds = network_bounds();
  out.delay.bounds = delay_bounds();
  for (const loop_metrics* const l : loops()) {
    for (std::size_t i = 0; i < out.tallies.size(); ++i) {
      out.tallies[i] += l->of(static_cast<tally>(i));
    }
    for (limit_totals& t : out.limits) {
      const limit_cells& c = l->of(t.at);
      t.admitted += c.admitted.get();
      t.refused += c.refused.get();
      t.shadow_refused += c.shadow_refused.get();
      for (std::size_t i = 0; i < outcomes; ++i) t.decided[i] += c.decided[i].get();
    }
    l->check_duration.add_to(out.check_duration);
    l->store_duration.add_to(out.store_duration);
    l->upstream_duration.add_to(out.upstream_duration);
    l->delay.add_to(out.delay);
  }
  return out;
}

std::string metrics::scrape() const {
  exposition out;
  const totals t = sum();
  write_tallies(out, t);
  out.durations(metric::check_duration, t.check_duration);
  out.durations(metric::store_duration, t.store_duration);
  out.durations(metric::upstream_duration, t.upstream_duration);
  out.durations(metric::delay, t.delay);
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    const double v = levels_[i].load(std::memory_order_relaxed);
    if (!std::isnan(v)) out.value(static_cast<metric>(i), v);
  }
  out.value(metric::limits_overflowed, limits_.overflowed());
  std::vector<std::function<void(exposition&)>> sources;
  {
    const std::lock_guard lock(mutex_);
    sources = sources_;
  }
  for (const auto& source : sources) source(out);
  write_limits(out, t);  // last: the bound on series must not cost the others theirs
  return out.text();
}

void metrics::collect(instant now) {
  offenders_.collect(streams(), now);
}

offender_report metrics::top(ranking r, window w, std::size_t n, instant now) {
  return offenders_.report(streams(), r, w, n, now);
}

std::vector<refusal> metrics::refusals(std::size_t n) const {
  std::vector<refusal> out;
  for (const loop_metrics* const l : loops()) {
    auto some = l->refusals.latest();
    std::ranges::move(some, std::back_inserter(out));
  }
  std::ranges::stable_sort(out, std::ranges::greater{}, &refusal::at);
  if (out.size() > n) out.resize(n);
  return out;
}

}  // namespace penstock::telemetry
