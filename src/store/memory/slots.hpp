// A slot table: 16-byte slots in cache lines of four, two candidate lines per name.
//
// A name is 54 bits of the key's hash; the lines follow from it, so a table grows without knowing
// its keys. Not thread-safe: the shard's lock is held around every call. Source of the two choices:
// Azar, Broder, Karlin, Upfal, "Balanced Allocations" (1994).
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "quota/log.hpp"
#include "store/memory/known_counters.hpp"
#include "store/memory/slot_memory.hpp"

namespace penstock::store {

struct slot {
  std::uint64_t head = 0;  // name << tag_bits | tag; 0 = empty
  std::uint64_t word = 0;  // packed state, or a pointer to whole_state or log_node by the tag

  [[nodiscard]] bool empty() const noexcept { return head == 0; }
  [[nodiscard]] std::uint64_t name() const noexcept { return head >> tag_bits; }
  [[nodiscard]] unsigned tag() const noexcept {
    return static_cast<unsigned>(head & ((1U << tag_bits) - 1));
  }
};

struct alignas(64) line {
  std::array<slot, 4> slots;

  // Bit i: slot i has this name. Without branches: where a name is cannot be foreseen.
  [[nodiscard]] unsigned holding(std::uint64_t name) const noexcept {
    const std::uint64_t wanted = name << tag_bits;
    unsigned hits = 0;
    for (std::size_t i = slots.size(); i-- > 0;) {
      hits = hits + hits + static_cast<unsigned>((slots[i].head ^ wanted) < (1U << tag_bits));
    }
    return hits;
  }
};

// A state that does not fit into a word.
struct whole_state {
  const known_quota* quota;
  quotas::state state;
};

struct log_node {
  const known_quota* quota;
  quotas::log_state log;
};

// What an allocation of that size costs with the allocator's own header.
inline constexpr std::size_t allocation_overhead = 16;

[[nodiscard]] inline whole_state* whole_of(const slot& s) noexcept {
  return reinterpret_cast<whole_state*>(static_cast<std::uintptr_t>(s.word));
}
[[nodiscard]] inline log_node* log_of(const slot& s) noexcept {
  return reinterpret_cast<log_node*>(static_cast<std::uintptr_t>(s.word));
}

inline line* line_places::at(std::uint64_t i) const noexcept {
  constexpr std::uint64_t in_chunk = (std::uint64_t{1} << slot_memory::chunk_bits) - 1;
  return base + ((i >> slot_memory::chunk_bits) << level_shift) + (i & in_chunk);
}

class slot_table {
 public:
  static constexpr std::uint32_t first_lines = 4;

  // Before anything else: where its lines are, all of them empty.
  void lie_at(line_places p) noexcept { lines_ = p; }

  [[nodiscard]] std::uint32_t lines() const noexcept { return n_.load(std::memory_order_relaxed); }

  // The two lines of a name, different ones, in a table of `lines` lines.
  struct places {
    line* first = nullptr;
    line* second = nullptr;
    std::uint32_t lines = 0;  // 0: the table has none
  };
  [[nodiscard]] places of(std::uint64_t name) const noexcept { return of(name, lines()); }

  // Starts to load the lines of a name, and says which they are, for find(). May be called without
  // the shard's lock: it is a hint, and the lines' addresses never change.
  [[nodiscard]] places prefetch(std::uint64_t name) const noexcept {
    const places p = of(name);
    if (p.lines != 0) {
      __builtin_prefetch(p.first, 1);
      __builtin_prefetch(p.second, 1);
    }
    return p;
  }

  [[nodiscard]] slot* find(std::uint64_t name) noexcept { return find(name, of(name)); }
  // `hint`: from prefetch(); it is out of date when the table has grown since.
  [[nodiscard]] slot* find(std::uint64_t name, places hint) noexcept {
    if (hint.lines != lines()) hint = of(name);
    if (hint.lines == 0) return nullptr;
    const unsigned hits = hint.first->holding(name) | hint.second->holding(name) << 4U;
    if (hits == 0) return nullptr;
    const auto i = static_cast<unsigned>(std::countr_zero(hits));
    return &(i < 4 ? hint.first : hint.second)->slots[i % 4];
  }

  // An empty slot in the emptier of the two lines; null when both are full.
  [[nodiscard]] slot* find_empty(std::uint64_t name) noexcept {
    const places p = of(name);
    if (p.lines == 0) return nullptr;
    int free_first = 0;
    int free_second = 0;
    slot* first = nullptr;
    slot* second = nullptr;
    for (slot& s : p.first->slots) {
      if (s.empty()) ++free_first, first = &s;
    }
    for (slot& s : p.second->slots) {
      if (s.empty()) ++free_second, second = &s;
    }
    return free_first >= free_second ? first : second;
  }

  [[nodiscard]] slot& at(std::size_t i) noexcept { return lines_.at(i / 4)->slots[i % 4]; }

  // Spreads everything over `lines` lines, more than before. False when some name found no place
  // there: then nothing changed. Work: a few steps per slot. May throw std::bad_alloc.
  // Precondition: the table's places have so many.
  [[nodiscard]] bool grow(std::uint32_t lines) {
    const std::uint32_t before = this->lines();
    std::vector<line> old;
    old.reserve(before);
    for (std::uint32_t i = 0; i < before; ++i) old.push_back(std::exchange(*lines_.at(i), line{}));
    n_.store(lines, std::memory_order_relaxed);
    for (const line& l : old) {
      for (const slot& s : l.slots) {
        if (s.empty() || insert(s)) continue;
        for (std::uint32_t i = 0; i < lines; ++i) *lines_.at(i) = i < before ? old[i] : line{};
        n_.store(before, std::memory_order_relaxed);
        return false;
      }
    }
    return true;
  }

 private:
  [[nodiscard]] places of(std::uint64_t name, std::uint32_t n) const noexcept {
    if (n == 0) return {};
    constexpr std::uint64_t half = (std::uint64_t{1} << 27U) - 1;
    const std::uint64_t a = ((name & half) * n) >> 27U;
    std::uint64_t b = ((name >> 27U) * n) >> 27U;
    if (a == b) b = a + 1 == n ? 0 : a + 1;
    return {lines_.at(a), lines_.at(b), n};
  }

  [[nodiscard]] bool insert(const slot& s) noexcept {
    slot* to = find_empty(s.name());
    if (to == nullptr) to = make_empty(s.name());
    if (to != nullptr) *to = s;
    return to != nullptr;
  }

  // Moves one slot out of the two full lines of a name into its own other line.
  [[nodiscard]] slot* make_empty(std::uint64_t name) noexcept {
    const places p = of(name);
    for (line* l : {p.first, p.second}) {
      for (slot& s : l->slots) {
        slot* other = find_empty(s.name());
        if (other == nullptr) continue;
        *other = s;
        s = slot{};
        return &s;
      }
    }
    return nullptr;
  }

  line_places lines_;
  std::atomic<std::uint32_t> n_{0};  // changed under the lock, read by prefetch() without it
};

}  // namespace penstock::store
