// One shard: a slot table with its lock, and who has to leave when it is full.
//
// Everything here needs the shard's lock; the counters may be read without it. Bytes are charged to
// the budget that all shards of a store share.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include <penstock/clock.hpp>
#include <penstock/decision.hpp>

#include "base/cell.hpp"
#include "store/memory/known_counters.hpp"
#include "store/memory/slots.hpp"

namespace penstock::store {

// The bytes of all tables and states of one store. Thread-safe.
class byte_budget {
 public:
  explicit byte_budget(std::size_t most) noexcept : most_(most) {}
  [[nodiscard]] bool reserve(std::size_t n) noexcept {
    if (used_.fetch_add(n, std::memory_order_relaxed) + n <= most_) return true;
    release(n);
    return false;
  }
  void force(std::size_t n) noexcept { used_.fetch_add(n, std::memory_order_relaxed); }
  void release(std::size_t n) noexcept { used_.fetch_sub(n, std::memory_order_relaxed); }
  [[nodiscard]] std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }

 private:
  std::size_t most_;
  std::atomic<std::size_t> used_{0};
};

struct alignas(64) shard {
  std::atomic<std::uint32_t> lock{0};
  slot_table table;
  std::uint32_t hand = 0;  // where the search for states outside slots goes on
  bool stuck = false;      // a growth found no place for some name: it stays as large as it is
  cell entries;
  cell table_full;
  cell evicted_live;
  cell evicted_expired;
  cell looked_at;  // states examined to find room
};

// What a slot says at `now` of the state it holds.
struct occupant {
  bool expired = false;
  bool refusing = false;  // one more unit does not pass now
  duration until_free{};  // refusing: until one unit passes
  duration until_full{};  // until it is as if untouched
};

[[nodiscard]] occupant examine(const slot& s, const known_counters& known, instant now);

// The stored state of a slot that is no log.
[[nodiscard]] quotas::state load_state(const slot& s, const known_counters& known);

// Bytes held outside the slot.
[[nodiscard]] std::size_t bytes_outside(const slot& s);

// Empties the slot and gives its bytes back.
void erase(shard& in, slot& s, byte_budget& budget);

// A place for a name that has none: chosen, not yet taken, so that a batch that is refused after
// all leaves everything as it was.
struct room {
  slot* at = nullptr;      // where to; null: there is no room
  slot* leaves = nullptr;  // its state has to go too, for its bytes outside; may equal `at`
  duration wait{};         // no room: the shortest wait after which one of the candidates may go
};

// Candidates are the eight slots of the name. `bytes_short` bytes outside the slots are needed and
// not left in the budget: then some state that holds as many has to go, one of the eight or of the
// 64 slots after the shard's hand. An empty slot, else an expired state, else the state soonest
// back to full; never one that is refusing now, nor one of `taken`.
[[nodiscard]] room find_room(shard& in, std::uint64_t name, std::size_t bytes_short,
                             const known_counters& known, instant now,
                             std::span<slot* const> taken);

// Before a name is stored: more lines when both of its lines are full of live states and the shard
// may grow to `most_lines`. Slots move: pointers into the shard are void when it returns true.
bool grow_for(shard& in, std::uint64_t name, std::uint32_t most_lines, byte_budget& budget,
              const known_counters& known, instant now);

}  // namespace penstock::store
