#include "service/ban_table.hpp"

#include <algorithm>

namespace penstock::service {

std::string ban_table::joined(std::string_view limit, std::string_view key) {
  std::string both;
  both.reserve(limit.size() + 1 + key.size());
  both.append(limit).push_back('\0');
  return both.append(key);
}

duration ban_table::remaining(std::string_view limit, std::string_view key, instant now) const {
  if (empty()) return {};
  const auto both = joined(limit, key);
  const std::lock_guard lock(mutex_);
  const auto at = until_.find(both);
  return at == until_.end() || at->second <= now ? duration{} : at->second - now;
}

void ban_table::ban(std::string_view limit, std::string_view key, instant until, instant now) {
  const std::lock_guard lock(mutex_);
  auto both = joined(limit, key);
  if (const auto at = until_.find(both); at != until_.end()) {
    at->second = std::max(at->second, until);
    return;
  }
  if (until_.size() >= entries_max_) make_room(now);
  until_.emplace(std::move(both), until);
  size_.store(until_.size(), std::memory_order_relaxed);
}

bool ban_table::lift(std::string_view limit, std::string_view key) {
  const std::lock_guard lock(mutex_);
  const bool was = until_.erase(joined(limit, key)) > 0;
  size_.store(until_.size(), std::memory_order_relaxed);
  return was;
}

void ban_table::make_room(instant now) {
  std::erase_if(until_, [now](const auto& e) { return e.second <= now; });
  if (until_.size() < entries_max_) return;
  until_.erase(std::ranges::min_element(until_, {}, [](const auto& e) { return e.second; }));
}

std::vector<ban_table::entry> ban_table::entries(instant now) const {
  const std::lock_guard lock(mutex_);
  std::vector<entry> all;
  for (const auto& [both, until] : until_) {
    if (until <= now) continue;
    const auto nul = both.find('\0');
    all.push_back({both.substr(0, nul), both.substr(nul + 1), until});
  }
  return all;
}

}  // namespace penstock::service
