#include "telemetry/recent.hpp"

#include <algorithm>
#include <utility>

namespace penstock::telemetry {
namespace {

// Copies a ring whose next write goes to `added % size`, the latest first.
template <class T>
std::vector<T> unrolled(const std::vector<T>& ring, std::uint64_t added) {
  std::vector<T> out;
  const std::uint64_t n = std::min<std::uint64_t>(added, ring.size());
  out.reserve(n);
  for (std::uint64_t i = 1; i <= n; ++i) out.push_back(ring[(added - i) % ring.size()]);
  return out;
}

}  // namespace

refusal_ring::refusal_ring() : of_(size) {
  for (refusal& r : of_) {
    for (std::string* const text : {&r.key, &r.client, &r.method, &r.path}) text->reserve(text_max);
  }
}

void refusal_ring::add(const refusal_view& r) {
  const std::lock_guard lock(mutex_);
  refusal& to = of_[added_++ % of_.size()];
  to.at = r.at;
  to.limit = r.limit;
  to.key.assign(r.key.substr(0, text_max));
  to.client.assign(r.client.substr(0, text_max));
  to.method.assign(r.method.substr(0, text_max));
  to.path.assign(r.path.substr(0, text_max));
  to.status = r.status;
  to.retry_after = r.retry_after;
  to.reason = r.reason;
}

std::vector<refusal> refusal_ring::latest() const {
  const std::lock_guard lock(mutex_);
  return unrolled(of_, added_);
}

std::string_view to_string(event_kind k) noexcept {
  switch (k) {
    case event_kind::reload:
      return "reload";
    case event_kind::store:
      return "store";
    case event_kind::ban:
      return "ban";
    case event_kind::change:
      return "change";
    case event_kind::lifecycle:
      return "lifecycle";
  }
  return "";
}

void event_ring::add(event e) {
  const std::lock_guard lock(mutex_);
  if (of_.size() < size) {
    of_.push_back(std::move(e));
  } else {
    of_[added_ % size] = std::move(e);
  }
  ++added_;
}

std::vector<event> event_ring::latest() const {
  const std::lock_guard lock(mutex_);
  return unrolled(of_, added_);
}

}  // namespace penstock::telemetry
