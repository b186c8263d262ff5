// The memory store without its interface: shards of slots, each behind a lock of its own.
//
// A charge's key is hashed under a secret of the store; the hash picks the shard and names the
// slot. A batch locks the shards of its charges in rising order, decides, writes back and unlocks:
// so it is one step for everybody, and no two batches wait for each other. `Sync` is the lock;
// tests replace it to run chosen interleavings. Thread-safe.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/siphash.hpp"
#include "store/memory/known_counters.hpp"
#include "store/memory/packed_batch.hpp"
#include "store/memory/shard.hpp"
#include "store/memory/working_set.hpp"
#include "store/store.hpp"

namespace penstock::store {

struct memory_stats {
  std::uint64_t entries = 0;          // states held, expired ones that nobody asked for included
  std::uint64_t bytes = 0;            // tables and states; never above max_bytes for long
  std::uint64_t table_full = 0;       // charges refused because every candidate was refusing
  std::uint64_t evicted_live = 0;     // states forgotten early: each may have granted twice
  std::uint64_t evicted_expired = 0;  // states forgotten when they no longer mattered
  std::uint64_t looked_at = 0;  // states examined to find room: 72 a charge, 8 a growth at most
};

template <class Sync>
class memory_table {
 public:
  static constexpr std::size_t shard_bytes = std::size_t{64} << 10U;
  static constexpr std::size_t least_shards = 16;

  // Precondition: max_bytes >= 16 * shard_bytes.
  memory_table(std::size_t max_bytes, const hash128& secret)
      : known_(secret),
        shard_bits_(static_cast<unsigned>(std::bit_width(max_bytes / shard_bytes) - 1)),
        shards_(std::make_unique<shard[]>(std::size_t{1} << shard_bits_)),
        budget_(max_bytes),
        // An eighth stays for states outside slots, whatever the tables take.
        context_{known_, budget_,
                 static_cast<std::uint32_t>((max_bytes >> shard_bits_) / 8 * 7 / sizeof(line))},
        slots_(shard_bits_, context_.most_lines) {
    for (std::size_t i = 0; i < shards(); ++i) shards_[i].table.lie_at(slots_.table(i));
    budget_.force(shards() * sizeof(shard));
  }
  memory_table(const memory_table&) = delete;
  memory_table& operator=(const memory_table&) = delete;

  ~memory_table() {
    for (shard& s : all()) {
      for (std::size_t i = 0; i < std::size_t{s.table.lines()} * 4; ++i) {
        erase(s, s.table.at(i), budget_);
      }
    }
  }

  void check(batch& b, instant now) {
    b.decided_at = now;
    b.failed = false;
    const std::size_t size = b.charges.size();
    if (size == 0) return;
    if (size == 1 && check_packed<1>(b, now)) return;
    if (size > 1 && size <= few && check_packed<few>(b, now)) return;
    working_set counters(b, now, context_);
    locked<max_charges> held(*this);
    held.lock(b.charges, counters);
    counters.find_places();
    decide(b, counters);
    Sync::inside();
    if (b.why == intent::take) counters.write_back();
  }

  void record(std::span<const charge> charges, instant now) {
    for (charge c : charges) {
      c.only_check = false;  // now it is known
      verdict unseen;
      batch one;
      one.charges = std::span(&c, 1);
      one.verdicts = std::span(&unseen, 1);
      working_set counters(one, now, context_);
      locked<1> held(*this);
      held.lock(one.charges, counters);
      counters.find_places();
      (void)counters.take(0, taking::up_to_cap);
      counters.write_back();
    }
  }

  void refund(std::span<const charge> charges, instant charged_at, instant now) {
    for (const charge& c : charges) {
      batch one;
      one.charges = std::span(&c, 1);
      working_set counters(one, now, context_);
      locked<1> held(*this);
      held.lock(one.charges, counters);
      counters.find_places();
      counters.give_back(0, charged_at);
      counters.write_back();
    }
  }

  void reset(const counter& what, std::string_view key) {
    const where w = locate(known_.find(what), key);
    shard& s = shards_[w.shard];
    const lock_guard held(s.lock);
    if (slot* at = s.table.find(w.name)) erase(s, *at, budget_);
  }

  [[nodiscard]] memory_stats stats() const {
    memory_stats sum{.bytes = budget_.used()};
    for (const shard& s : all()) {
      sum.entries += s.entries.get();
      sum.table_full += s.table_full.get();
      sum.evicted_live += s.evicted_live.get();
      sum.evicted_expired += s.evicted_expired.get();
      sum.looked_at += s.looked_at.get();
    }
    return sum;
  }

 private:
  static constexpr std::size_t few = 8;  // charges that packed_batch takes

  struct where {
    std::uint32_t shard;
    std::uint64_t name;  // 64 - tag_bits bits, never 0
  };

  class lock_guard {
   public:
    explicit lock_guard(std::atomic<std::uint32_t>& word) : word_(word) { Sync::lock(word_); }
    ~lock_guard() { Sync::unlock(word_); }
    lock_guard(const lock_guard&) = delete;
    lock_guard& operator=(const lock_guard&) = delete;

   private:
    std::atomic<std::uint32_t>& word_;
  };

  // The shards of up to Most charges, each locked once, in rising order, until the end of the
  // scope.
  template <std::size_t Most>
  class locked {
   public:
    explicit locked(memory_table& t) : table_(t) {}
    ~locked() {
      if (!held_) return;
      for (std::size_t i = 0; i < size(); ++i) Sync::unlock(table_.shards_[shards_[i]].lock);
    }
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;

    void want(std::uint32_t shard) {
      if constexpr (Most == 1) {
        shards_[size_++] = shard;
        return;
      }
      std::size_t at = size_;
      while (at > 0 && shards_[at - 1] > shard) --at;
      if (at > 0 && shards_[at - 1] == shard) return;
      for (std::size_t i = size_++; i > at; --i) shards_[i] = shards_[i - 1];
      shards_[at] = shard;
    }
    void lock() {
      for (std::size_t i = 0; i < size(); ++i) Sync::lock(table_.shards_[shards_[i]].lock);
      held_ = true;
    }
    void lock(std::span<const charge> charges, working_set& counters) {
      for (const charge& c : charges) {
        const known_counter& who = table_.known_.find(*c.what);
        const where w = table_.locate(who, c.key);
        shard& s = table_.shards_[w.shard];
        counters.add(who, w.name, s);
        static_cast<void>(s.table.prefetch(w.name));
        want(w.shard);
      }
      lock();
    }

   private:
    [[nodiscard]] std::size_t size() const { return Most == 1 ? 1 : size_; }

    memory_table& table_;
    bool held_ = false;
    std::size_t size_ = 0;
    std::array<std::uint32_t, Most> shards_{};
  };

  [[nodiscard]] std::size_t shards() const noexcept { return std::size_t{1} << shard_bits_; }
  [[nodiscard]] std::span<shard> all() noexcept { return {shards_.get(), shards()}; }
  [[nodiscard]] std::span<const shard> all() const noexcept { return {shards_.get(), shards()}; }

  [[nodiscard]] where locate(const known_counter& who, std::string_view key) const noexcept {
    const hash128 h = siphash128(who.hash_key, key);
    const std::uint64_t name = h.hi >> tag_bits;
    return {static_cast<std::uint32_t>(h.lo >> (64 - shard_bits_)), name == 0 ? 1 : name};
  }

  // False, with nothing stored, when the batch is not one for packed_batch.
  template <std::size_t Most>
  bool check_packed(const batch& b, instant now) {
    packed_batch<Most> counters(b, now, known_);
    locked<Most> held(*this);
    for (const charge& c : b.charges) {
      const known_counter& who = known_.find(*c.what);
      const where w = locate(who, c.key);
      shard& s = shards_[w.shard];
      if (!counters.add(who, w.name, s, s.table.prefetch(w.name))) return false;
      held.want(w.shard);
    }
    held.lock();
    if (!counters.decide()) return false;
    Sync::inside();
    if (b.why == intent::take) counters.store();
    return true;
  }

  known_counters known_;
  unsigned shard_bits_;
  std::unique_ptr<shard[]> shards_;
  byte_budget budget_;
  table_context context_;
  slot_memory slots_;
};

}  // namespace penstock::store
