// A slot table: 16-byte slots in cache lines of four, two candidate lines per name.
//
// A name is 54 bits of the key's hash; the lines follow from it, so a table grows without knowing
// its keys. Not thread-safe: the shard's lock is held around every call. Source of the two choices:
// Azar, Broder, Karlin, Upfal, "Balanced Allocations" (1994).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "quota/log.hpp"
#include "store/memory/known_counters.hpp"

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

class slot_table {
 public:
  static constexpr std::uint32_t first_lines = 4;

  [[nodiscard]] std::uint32_t lines() const noexcept { return n_; }
  [[nodiscard]] std::size_t bytes() const noexcept { return n_ * sizeof(line); }

  // The two lines of a name, different ones. Precondition: lines() >= 2.
  struct places {
    line* first;
    line* second;
  };
  [[nodiscard]] places of(std::uint64_t name) noexcept {
    constexpr std::uint64_t half = (std::uint64_t{1} << 27U) - 1;
    const std::uint64_t a = ((name & half) * n_) >> 27U;
    std::uint64_t b = ((name >> 27U) * n_) >> 27U;
    if (a == b) b = a + 1 == n_ ? 0 : a + 1;
    return {&lines_[a], &lines_[b]};
  }

  [[nodiscard]] slot* find(std::uint64_t name) noexcept {
    if (n_ == 0) return nullptr;
    const places p = of(name);
    for (slot& s : p.first->slots) {
      if (s.name() == name) return &s;
    }
    for (slot& s : p.second->slots) {
      if (s.name() == name) return &s;
    }
    return nullptr;
  }

  // An empty slot in the emptier of the two lines; null when both are full.
  [[nodiscard]] slot* find_empty(std::uint64_t name) noexcept {
    if (n_ == 0) return nullptr;
    const places p = of(name);
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

  [[nodiscard]] slot& at(std::size_t i) noexcept { return lines_[i / 4].slots[i % 4]; }

  // Moves everything into `lines` lines. False when some name found no place there: then nothing
  // changed. Work: a few steps per slot. May throw std::bad_alloc.
  [[nodiscard]] bool grow(std::uint32_t lines) {
    slot_table larger;
    larger.lines_ = std::make_unique<line[]>(lines);
    larger.n_ = lines;
    for (std::size_t i = 0; i < std::size_t{n_} * 4; ++i) {
      const slot& s = at(i);
      if (s.empty()) continue;
      slot* to = larger.find_empty(s.name());
      if (to == nullptr) to = larger.make_empty(s.name());
      if (to == nullptr) return false;
      *to = s;
    }
    *this = std::move(larger);
    return true;
  }

 private:
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

  std::unique_ptr<line[]> lines_;
  std::uint32_t n_ = 0;
};

}  // namespace penstock::store
