// Counts what this program's threads allocate: for tests that say that something allocates nothing.
// Replaces the global operator new, so it belongs into exactly one source of a test program.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace penstock {

inline thread_local std::size_t allocations = 0;  // of this thread, since it began

inline void* counted_new(std::size_t size) {
  ++allocations;
  if (void* p = std::malloc(size == 0 ? 1 : size)) return p;
  throw std::bad_alloc();
}

}  // namespace penstock

void* operator new(std::size_t size) {
  return penstock::counted_new(size);
}
void* operator new[](std::size_t size) {
  return penstock::counted_new(size);
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++penstock::allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* p) noexcept {
  std::free(p);
}
void operator delete[](void* p) noexcept {
  std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
  std::free(p);
}
void operator delete[](void* p, std::size_t) noexcept {
  std::free(p);
}
