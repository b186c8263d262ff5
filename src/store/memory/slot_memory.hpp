// The address range in which all slot tables of a store lie: reserved once, backed by memory as
// tables grow into it, in huge pages where the system gives them on request.
//
// Every table has a chunk of 64 lines (4 KiB) in each of the range's levels: level k holds the k-th
// chunks of all tables, side by side. Tables of one store grow together, since keys are spread
// evenly, so a huge page is filled soon after it was touched; a table never moves, and what it
// needs is never in two places at once. Not thread-safe to make; immutable afterwards. Source:
// madvise(2), MADV_HUGEPAGE.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::store {

struct line;

// Where one table lies. Precondition of at(): below the lines that the range was made for.
struct line_places {
  line* base = nullptr;
  unsigned level_shift = 0;  // log2 of the lines of a level

  [[nodiscard]] inline line* at(std::uint64_t i) const noexcept;
};

class slot_memory {
 public:
  static constexpr unsigned chunk_bits = 6;

  // For 2^table_bits tables of at most `lines` lines. All empty: memory reads as zero before it is
  // written. Throws std::bad_alloc when the system has no such range.
  slot_memory(unsigned table_bits, std::uint32_t lines);
  slot_memory(const slot_memory&) = delete;
  slot_memory& operator=(const slot_memory&) = delete;
  ~slot_memory();

  [[nodiscard]] line_places table(std::size_t i) const noexcept;

 private:
  unsigned table_bits_;
  void* mapped_ = nullptr;
  std::size_t mapped_bytes_ = 0;
  line* lines_ = nullptr;
};

}  // namespace penstock::store
