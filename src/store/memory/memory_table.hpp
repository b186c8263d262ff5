// The memory store without its interface: shards of slots, each behind a lock of its own.
//
// A charge's key is hashed under a secret of the store; the hash picks the shard and names the
// slot. A batch locks the shards of its charges in rising order, decides, writes back and unlocks:
// so it is one step for everybody, and no two batches wait for each other. `Sync` is the lock;
// tests replace it to run chosen interleavings. Thread-safe.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/inline_vector.hpp"
#include "base/siphash.hpp"
#include "quota/bucket.hpp"
#include "store/memory/known_counters.hpp"
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
    if (b.charges.size() == 1 && check_packed(b.charges[0], b.verdicts[0], b.why, now)) return;
    if (b.charges.empty()) return;
    working_set counters(b, now, context_);
    const locked held(*this, b.charges, counters);
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
      const locked held(*this, one.charges, counters);
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
      const locked held(*this, one.charges, counters);
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
      sum.entries += s.entries.read();
      sum.table_full += s.table_full.read();
      sum.evicted_live += s.evicted_live.read();
      sum.evicted_expired += s.evicted_expired.read();
      sum.looked_at += s.looked_at.read();
    }
    return sum;
  }

 private:
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

  // The shards of all charges, each locked once, in rising order.
  class locked {
   public:
    locked(memory_table& t, std::span<const charge> charges, working_set& counters) : table_(t) {
      for (const charge& c : charges) {
        const known_counter& who = t.known_.find(*c.what);
        const where w = t.locate(who, c.key);
        counters.add(who, w.name, t.shards_[w.shard]);
        t.shards_[w.shard].table.prefetch(w.name);
        shards_.emplace_back(w.shard);
      }
      std::sort(shards_.begin(), shards_.end());
      distinct_ = std::unique(shards_.begin(), shards_.end());
      for (const std::uint32_t* s = shards_.begin(); s != distinct_; ++s) {
        Sync::lock(table_.shards_[*s].lock);
      }
    }
    ~locked() {
      for (const std::uint32_t* s = shards_.begin(); s != distinct_; ++s) {
        Sync::unlock(table_.shards_[*s].lock);
      }
    }
    locked(const locked&) = delete;
    locked& operator=(const locked&) = delete;

   private:
    memory_table& table_;
    inline_vector<std::uint32_t, max_charges> shards_;
    const std::uint32_t* distinct_ = nullptr;
  };

  [[nodiscard]] std::size_t shards() const noexcept { return std::size_t{1} << shard_bits_; }
  [[nodiscard]] std::span<shard> all() noexcept { return {shards_.get(), shards()}; }
  [[nodiscard]] std::span<const shard> all() const noexcept { return {shards_.get(), shards()}; }

  [[nodiscard]] where locate(const known_counter& who, std::string_view key) const noexcept {
    const hash128 h = siphash128(who.hash_key, key);
    const std::uint64_t name = h.hi >> tag_bits;
    return {static_cast<std::uint32_t>(h.lo >> (64 - shard_bits_)), name == 0 ? 1 : name};
  }

  // The common case in one go: one charge whose state is in a word, and is to be found or has an
  // empty slot. False, with nothing stored, when it is not that case.
  bool check_packed(const charge& c, verdict& answer, intent why, instant now) {
    const known_counter& who = known_.find(*c.what);
    if (!who.quota->packs() || c.only_check) return false;
    const where w = locate(who, c.key);
    shard& s = shards_[w.shard];
    s.table.prefetch(w.name);
    const lock_guard held(s.lock);
    slot* at = s.table.find(w.name);
    const quotas::compiled& q = c.what->quota;
    std::uint64_t word = 0;
    bool changed = false;
    if (who.quota->pack.is_bucket() && (at == nullptr || at->tag() == who.quota->tag)) {
      const std::int64_t time = q.ticks(now) * q.unit_den;
      quotas::distance d;
      if (at != nullptr) {
        d = quotas::token_bucket::distance_of(q, static_cast<std::int64_t>(at->word), time);
      }
      const auto spent = quotas::token_bucket::decide(q, d, c.cost, answer);
      word = static_cast<std::uint64_t>(time + spent.ahead);
      changed = spent.changed;
    } else {
      const quotas::state prior = at == nullptr ? quotas::state{} : load_state(*at, known_);
      const quotas::outcome out = quotas::take(q, prior, q.ticks(now), c.cost);
      answer = out.result;
      changed = out.changed;
      if (changed && !who.quota->pack.pack(out.next, word)) return false;
    }
    if (!answer.admitted && c.what->count_denied) return false;
    Sync::inside();
    if (changed) {
      const bool known = at != nullptr;
      if (known && at->tag() == tag_whole) return false;
      if (!known && (at = s.table.find_empty(w.name)) == nullptr) return false;
      if (why == intent::take) {
        *at = {(w.name << tag_bits) | who.quota->tag, word};
        if (!known) s.entries.add(1);
      }
    }
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
