// What the memory store knows of the counters it was asked about: for each id a hash key of its
// own, for each distinct quota how its states are packed and the tag that names it inside a slot.
//
// Looked up on every charge, by the serial of the counter object: lock-free once it was seen; a new
// object takes a mutex. Nothing is forgotten before the store ends: the size follows the policies
// loaded, not the traffic. Thread-safe.
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
    const std::uint64_t serial = what.serial.value();
    const std::size_t i = place_of(serial);
    if (const known_counter* k = cache_[i].read(serial)) return *k;
    if (const known_counter* k = cache_[i ^ 1U].read(serial)) return *k;
    return find_or_add(what);
  }

  // Precondition: a quota of this tag was handed out.
  [[nodiscard]] const known_quota& by_tag(unsigned tag) const noexcept {
    return *by_tag_[tag].load(std::memory_order_acquire);
  }

 private:
  // Which counter an object is known as. Read without a lock: a version that moved, or is odd, says
  // that somebody wrote meanwhile. Serials are never used twice.
  class remembered {
   public:
    [[nodiscard]] const known_counter* read(std::uint64_t serial) const noexcept {
      const std::uint64_t before = version_.load(std::memory_order_acquire);
      const std::uint64_t whose = serial_.load(std::memory_order_acquire);
      const known_counter* const known = known_.load(std::memory_order_acquire);
      const std::uint64_t after = version_.load(std::memory_order_relaxed);
      return whose == serial && before == after && before % 2 == 0 ? known : nullptr;
    }
    // One writer at a time.
    void write(std::uint64_t serial, const known_counter* known) noexcept {
      const std::uint64_t version = version_.load(std::memory_order_relaxed);
      version_.store(version + 1, std::memory_order_relaxed);
      serial_.store(serial, std::memory_order_release);
      known_.store(known, std::memory_order_release);
      version_.store(version + 2, std::memory_order_release);
    }
    [[nodiscard]] std::uint64_t whose() const noexcept { return serial_.load(); }  // 0: nobody's

   private:
    std::atomic<std::uint64_t> version_{0};
    std::atomic<std::uint64_t> serial_{0};
    std::atomic<const known_counter*> known_{nullptr};
  };

  static constexpr std::size_t cache_size = 2048;

  // Serials of one policy follow one another: so do their places, in pairs.
  static std::size_t place_of(std::uint64_t serial) noexcept {
    return static_cast<std::size_t>(serial % cache_size);
  }
  const known_counter& find_or_add(const counter& what);
  const known_quota* intern(const quotas::compiled& q);

  hash128 secret_;
  std::array<remembered, cache_size> cache_{};
  std::vector<std::atomic<const known_quota*>> by_tag_;
  std::mutex mutex_;  // guards everything below
  std::vector<std::unique_ptr<known_quota>> quotas_;
  std::map<std::string, std::vector<std::unique_ptr<known_counter>>, std::less<>> counters_;
  unsigned next_tag_ = 1;
};

}  // namespace penstock::store
