#include "telemetry/key_stream.hpp"

namespace penstock::telemetry {

key_stream::key_stream(const hash128& secret) : secret_(secret) {}

void key_stream::add(ranking r, slot l, std::string_view key, instant now) {
  // The limit goes into the hash's key: equal texts under two limits are two keys.
  const hash128 salted{secret_.lo ^ l, secret_.hi};
  const std::uint64_t id = siphash128(salted, key).lo;
  const std::int64_t span = span_of(now);
  const std::lock_guard lock(mutex_);
  ring& own = rings_[static_cast<std::size_t>(r)];
  if (span > own.of[own.current].span) turn(own, span);
  own.of[own.current].keys.add(id, l, key);
}

void key_stream::turn(ring& r, std::int64_t span) {
  if (r.of[r.current].keys.total() > 0) {
    r.current = (r.current + 1) % r.of.size();
    r.of[r.current].keys.clear();
  }
  r.of[r.current].span = span;
}

std::vector<key_stream::finished> key_stream::take_finished(instant now) {
  std::vector<finished> out;
  const std::int64_t span = span_of(now);
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < rankings; ++i) {
    for (sketch& s : rings_[i].of) {
      if (s.keys.total() == 0 || s.span >= span) continue;
      out.push_back({static_cast<ranking>(i), s.span, s.keys.summary()});
      s.keys.clear();
    }
  }
  return out;
}

key_stream::finished key_stream::current(ranking r) const {
  const std::lock_guard lock(mutex_);
  const ring& own = rings_[static_cast<std::size_t>(r)];
  const sketch& s = own.of[own.current];
  return {r, s.span, s.keys.summary()};
}

}  // namespace penstock::telemetry
