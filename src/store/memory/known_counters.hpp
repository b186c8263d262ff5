// What the memory store knows of the counters it was asked about: for each id a hash key of its
// own, for each distinct quota how its states are packed and the tag that names it inside a slot.
//
// Looked up on every charge: lock-free once a counter was seen; a new counter takes a mutex.
// Nothing is forgotten before the store ends: the size follows the policies loaded, not the
// traffic. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/siphash.hpp"
#include "quota/charge.hpp"
#include "store/memory/packing.hpp"

namespace penstock::store {

// Tags of slots. 0 is an empty slot; the two highest name states kept outside the slot.
inline constexpr unsigned tag_bits = 10;
inline constexpr unsigned tag_log = (1U << tag_bits) - 1;
inline constexpr unsigned tag_whole = tag_log - 1;
inline constexpr unsigned last_quota_tag = tag_whole - 1;

struct known_quota {
  quotas::compiled quota;
  packing pack;
  unsigned tag;  // 1..last_quota_tag; 0: no tag was left, its states are kept whole

  known_quota(const quotas::compiled& q, unsigned t) : quota(q), pack(q), tag(t) {}
  [[nodiscard]] bool packs() const noexcept { return tag != 0 && pack.fits(); }
  [[nodiscard]] bool is_log() const noexcept {
    return quota.source.kind == algorithm::sliding_window_log;
  }
};

struct known_counter {
  std::string id;
  hash128 hash_key;  // SipHash of the id under the store's secret: keys of two ids never mix
  const known_quota* quota;
};

class known_counters {
 public:
  explicit known_counters(const hash128& secret) : secret_(secret), by_tag_(last_quota_tag + 1) {}

  // The answer lives as long as this object.
  [[nodiscard]] const known_counter& find(const counter& what) {
    std::size_t i = place_of(what);
    for (std::size_t probe = 0; probe < probes; ++probe, i = (i + 1) % cache_size) {
      const known_counter* k = cache_[i].load(std::memory_order_acquire);
      if (k == nullptr) break;
      if (same(*k, what)) return *k;
    }
    return find_or_add(what);
  }

  // Precondition: a quota of this tag was handed out.
  [[nodiscard]] const known_quota& by_tag(unsigned tag) const noexcept {
    return *by_tag_[tag].load(std::memory_order_acquire);
  }

 private:
  static constexpr std::size_t cache_size = 2048;
  static constexpr std::size_t probes = 4;

  static std::size_t place_of(const counter& what) noexcept {
    const auto address = reinterpret_cast<std::uintptr_t>(&what);
    return static_cast<std::size_t>((address * 0x9e3779b97f4a7c15U) >> 53U);
  }
  // The address may be that of a new counter by now: only what is in it counts.
  static bool same(const known_counter& k, const counter& what) noexcept {
    return same_quota(k.quota->quota, what.quota) && k.id == what.id;
  }
  static bool same_quota(const quotas::compiled& a, const quotas::compiled& b) noexcept;
  const known_counter& find_or_add(const counter& what);
  const known_quota* intern(const quotas::compiled& q);

  hash128 secret_;
  std::array<std::atomic<const known_counter*>, cache_size> cache_{};
  std::vector<std::atomic<const known_quota*>> by_tag_;
  std::mutex mutex_;  // guards everything below
  std::vector<std::unique_ptr<known_quota>> quotas_;
  std::map<std::string, std::vector<std::unique_ptr<known_counter>>, std::less<>> counters_;
  unsigned next_tag_ = 1;
};

inline bool known_counters::same_quota(const quotas::compiled& a,
                                       const quotas::compiled& b) noexcept {
  const auto differs = (a.tick_us ^ b.tick_us) | (a.period ^ b.period) | (a.capacity ^ b.capacity) |
                       (a.rate_tag ^ b.rate_tag) | (a.unit_den ^ b.unit_den) | (a.full ^ b.full) |
                       (a.burst ^ b.burst) | (a.burst_period ^ b.burst_period) |
                       (a.queue ^ b.queue) | (a.undelayed ^ b.undelayed) |
                       (a.max_delay ^ b.max_delay) | (a.max_wait ^ b.max_wait);
  return differs == 0 && a.source.kind == b.source.kind;
}

}  // namespace penstock::store
