#include "telemetry/key_summary.hpp"

#include <algorithm>
#include <unordered_map>

namespace penstock::telemetry {

void key_summary::merge(const key_summary& other, std::size_t keys_max) {
  std::unordered_map<std::uint64_t, std::size_t> at;
  at.reserve(keys.size() + other.keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    at.emplace(keys[i].id, i);
    keys[i].at_most += other.floor;  // taken back below where the other side knows better
  }
  for (const key_count& theirs : other.keys) {
    const auto found = at.find(theirs.id);
    if (found == at.end()) {
      keys.push_back(theirs);
      keys.back().at_most += floor;
      continue;
    }
    key_count& ours = keys[found->second];
    ours.at_least += theirs.at_least;
    ours.at_most += theirs.at_most - other.floor;
  }
  total += other.total;
  floor += other.floor;
  if (keys.size() <= keys_max) return;

  const auto cut = keys.begin() + static_cast<std::ptrdiff_t>(keys_max);
  std::ranges::nth_element(keys, cut, std::ranges::greater{}, &key_count::at_most);
  floor = std::max(floor, cut->at_most);
  keys.erase(cut, keys.end());
}

std::vector<key_count> key_summary::top(std::size_t n) const {
  std::vector<key_count> out = keys;
  const auto more = [](const key_count& a, const key_count& b) {
    if (a.at_least != b.at_least) return a.at_least > b.at_least;
    if (a.at_most != b.at_most) return a.at_most > b.at_most;
    return a.id < b.id;
  };
  const auto cut = out.begin() + static_cast<std::ptrdiff_t>(std::min(n, out.size()));
  std::ranges::partial_sort(out, cut, more);
  out.erase(cut, out.end());
  return out;
}

}  // namespace penstock::telemetry
