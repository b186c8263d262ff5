// Which keys are banned, and until when. One table for all loops of a process; bounded: when it is
// full the ban that ends first makes room. Thread-safe. A process without bans pays one relaxed
// read per request.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <penstock/clock.hpp>

namespace penstock::service {

class ban_table {
 public:
  explicit ban_table(std::size_t entries_max = 65'536) : entries_max_(entries_max) {}

  // How long `key` under the limit of this name is still banned; 0: it is not.
  [[nodiscard]] duration remaining(std::string_view limit, std::string_view key, instant now) const;

  // A ban never becomes shorter by another one. `reason` is the operator's; empty: the limit's own.
  void ban(std::string_view limit, std::string_view key, instant until, instant now,
           std::string_view reason = {});
  // True when there was one.
  bool lift(std::string_view limit, std::string_view key);

  struct entry {
    std::string limit, key, reason;
    instant until{};
  };
  [[nodiscard]] std::vector<entry> entries(instant now) const;
  [[nodiscard]] bool empty() const noexcept { return size_.load(std::memory_order_relaxed) == 0; }

 private:
  // Limit names have no NUL, so the pair is told apart.
  static std::string joined(std::string_view limit, std::string_view key);
  void make_room(instant now);

  const std::size_t entries_max_;
  mutable std::mutex mutex_;
  struct ban_state {
    instant until{};
    std::string reason;
  };
  std::unordered_map<std::string, ban_state> bans_;
  std::atomic<std::size_t> size_{0};
};

}  // namespace penstock::service
