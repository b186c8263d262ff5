// How the memory store excludes threads from a shard: a word, held for tens of nanoseconds.
//
// A type of its own so that a test can put its scheduler, or a lock that does not lock, in its
// place.
#pragma once

#include <atomic>
#include <cstdint>

#include <sched.h>

namespace penstock::store {

struct spin_lock {
  static void lock(std::atomic<std::uint32_t>& word) noexcept {
    if (word.exchange(1, std::memory_order_acquire) == 0) return;
    lock_contended(word);
  }
  static void unlock(std::atomic<std::uint32_t>& word) noexcept {
    word.store(0, std::memory_order_release);
  }
  // Called between decision and storing, under the lock.
  static void inside() noexcept {}

 private:
  // The holder may have lost its core: after 2 us or so of waiting it gets ours.
  [[gnu::noinline]] static void lock_contended(std::atomic<std::uint32_t>& word) noexcept {
    constexpr int pauses = 64;
    for (;;) {
      for (int i = 0; i < pauses; ++i) {
        if (word.load(std::memory_order_relaxed) == 0 &&
            word.exchange(1, std::memory_order_acquire) == 0) {
          return;
        }
        pause();
      }
      sched_yield();
    }
  }
  static void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
};

}  // namespace penstock::store
