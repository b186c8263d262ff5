#include "telemetry/limit_slots.hpp"

#include <algorithm>

namespace penstock::telemetry {
namespace {

const limit_label other{"other", "other", "other"};

}  // namespace

std::vector<slot> limit_slots::assign(std::span<const limit_label> labels) {
  const std::lock_guard lock(mutex_);
  std::vector<slot> out;
  out.reserve(labels.size());
  for (const limit_label& l : labels) {
    const auto found = std::ranges::find(labels_, l);
    if (found != labels_.end()) {
      out.push_back(static_cast<slot>(found - labels_.begin()));
    } else if (labels_.size() < slots_max) {
      out.push_back(static_cast<slot>(labels_.size()));
      labels_.push_back(l);
    } else {
      out.push_back(overflow_slot);
      ++overflowed_;
    }
  }
  return out;
}

std::vector<limit_slots::entry> limit_slots::entries() const {
  const std::lock_guard lock(mutex_);
  std::vector<entry> out;
  out.reserve(labels_.size() + 1);
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    out.push_back({static_cast<slot>(i), labels_[i]});
  }
  if (overflowed_ > 0) out.push_back({overflow_slot, other});
  return out;
}

limit_label limit_slots::label(slot at) const {
  const std::lock_guard lock(mutex_);
  if (at < labels_.size()) return labels_[at];
  return at == overflow_slot ? other : limit_label{};
}

std::uint64_t limit_slots::overflowed() const {
  const std::lock_guard lock(mutex_);
  return overflowed_;
}

}  // namespace penstock::telemetry
