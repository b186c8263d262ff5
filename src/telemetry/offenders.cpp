#include "telemetry/offenders.hpp"

#include <algorithm>
#include <iterator>

namespace penstock::telemetry {
namespace {

// Of each window: how many sketches make one of its stretches, and how many stretches besides the
// one in progress it reaches back.
struct shape {
  std::int64_t spans;
  std::int64_t stretches;
};
constexpr std::array<shape, windows> shapes = {{{1, 6}, {6, 10}, {60, 6}}};

}  // namespace

void offenders::add(ranking r, std::int64_t span, const key_summary& keys, std::int64_t now_span) {
  for (std::size_t w = 0; w < windows; ++w) {
    level& l = levels_[static_cast<std::size_t>(r)][w];
    const std::int64_t number = span / shapes[w].spans;
    const std::int64_t oldest = now_span / shapes[w].spans - shapes[w].stretches;
    while (!l.empty() && l.front().number < oldest) l.pop_front();
    if (number < oldest) continue;
    auto at = std::ranges::lower_bound(l, number, {}, &stretch::number);
    if (at == l.end() || at->number != number) at = l.insert(at, {number, {}});
    at->keys.merge(keys, keys_max);
  }
}

void offenders::collect(std::span<key_stream* const> streams, instant now) {
  const std::lock_guard lock(mutex_);
  for (key_stream* const s : streams) {
    for (const auto& f : s->take_finished(now)) add(f.by, f.span, f.keys, span_of(now));
  }
}

offender_report offenders::report(std::span<key_stream* const> streams, ranking r, window w,
                                  std::size_t n, instant now) {
  collect(streams, now);
  const shape of = shapes[static_cast<std::size_t>(w)];
  const std::int64_t oldest = span_of(now) / of.spans - of.stretches;

  key_summary all;
  {
    const std::lock_guard lock(mutex_);
    for (const stretch& s : levels_[static_cast<std::size_t>(r)][static_cast<std::size_t>(w)]) {
      if (s.number >= oldest) all.merge(s.keys, SIZE_MAX);
    }
  }
  for (const key_stream* const s : streams) {
    const auto running = s->current(r);
    if (running.span >= span_of(now)) all.merge(running.keys, SIZE_MAX);
  }
  offender_report out;
  out.total = all.total;
  out.floor = all.floor;
  out.top = all.top(n);
  const instant begin{sketch_span * (oldest * of.spans)};
  out.covered = now - begin;
  return out;
}

}  // namespace penstock::telemetry
