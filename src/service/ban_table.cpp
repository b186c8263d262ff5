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
  const auto at = bans_.find(both);
  return at == bans_.end() || at->second.until <= now ? duration{} : at->second.until - now;
}

void ban_table::ban(std::string_view limit, std::string_view key, instant until, instant now,
                    std::string_view reason) {
  const std::lock_guard lock(mutex_);
  auto both = joined(limit, key);
  if (const auto at = bans_.find(both); at != bans_.end()) {
    if (until > at->second.until) at->second = {until, std::string(reason)};
    return;
  }
  if (bans_.size() >= entries_max_) make_room(now);
  bans_.emplace(std::move(both), ban_state{until, std::string(reason)});
  size_.store(bans_.size(), std::memory_order_relaxed);
}

bool ban_table::lift(std::string_view limit, std::string_view key) {
  const std::lock_guard lock(mutex_);
  const bool was = bans_.erase(joined(limit, key)) > 0;
  size_.store(bans_.size(), std::memory_order_relaxed);
  return was;
}

void ban_table::make_room(instant now) {
  std::erase_if(bans_, [now](const auto& e) { return e.second.until <= now; });
  if (bans_.size() < entries_max_) return;
  bans_.erase(std::ranges::min_element(bans_, {}, [](const auto& e) { return e.second.until; }));
}

std::vector<ban_table::entry> ban_table::entries(instant now) const {
  const std::lock_guard lock(mutex_);
  std::vector<entry> all;
  for (const auto& [both, state] : bans_) {
    if (state.until <= now) continue;
    const auto nul = both.find('\0');
    all.push_back({both.substr(0, nul), both.substr(nul + 1), state.reason, state.until});
  }
  return all;
}

}  // namespace penstock::service
