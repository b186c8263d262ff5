#include "store/memory/slot_memory.hpp"

#include <new>

#include <sys/mman.h>

#include "store/memory/slots.hpp"

namespace penstock::store {

slot_memory::slot_memory(unsigned table_bits, std::uint32_t lines) : table_bits_(table_bits) {
  constexpr std::size_t huge = std::size_t{2} << 20U;
  constexpr std::size_t chunk_lines = std::size_t{1} << chunk_bits;
  const std::size_t levels = (lines + chunk_lines - 1) / chunk_lines;
  const std::size_t bytes = (levels << (chunk_bits + table_bits)) * sizeof(line);
  mapped_bytes_ = bytes + huge;  // so that it can start where a huge page may
  mapped_ = mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped_ == MAP_FAILED) throw std::bad_alloc();
  const auto start = reinterpret_cast<std::uintptr_t>(mapped_);
  lines_ = reinterpret_cast<line*>((start + huge - 1) & ~(huge - 1));
  // A system without huge pages says no: then it is slower, not wrong.
  if (bytes >= huge) (void)madvise(lines_, bytes, MADV_HUGEPAGE);
}

slot_memory::~slot_memory() {
  munmap(mapped_, mapped_bytes_);
}

line_places slot_memory::table(std::size_t i) const noexcept {
  return {lines_ + (i << chunk_bits), chunk_bits + table_bits_};
}

}  // namespace penstock::store
