// The state of one key under the sliding window log: when the units of the last window were taken.
// It grows only with use, one entry per tick at which something was taken, and never beyond the
// limit's count. Not thread-safe. docs/algorithms.md, "Sliding window log".
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "quota/compiled.hpp"

namespace penstock::quotas {

class log_state {
 public:
  struct entry {
    std::int64_t tick = 0;
    std::int64_t units = 0;
  };

  log_state() = default;
  log_state(log_state&&) noexcept;
  log_state& operator=(log_state&&) noexcept;
  log_state(const log_state& other);
  log_state& operator=(const log_state& other);
  ~log_state() = default;

  // Entries from the oldest (0) to the newest; their ticks rise.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] const entry& at(std::size_t i) const noexcept { return ring_[slot(i)]; }
  [[nodiscard]] std::int64_t total() const noexcept { return total_; }  // units in all entries

  // Bytes held beyond sizeof(log_state); 0 until something was taken.
  [[nodiscard]] std::size_t memory_bytes() const noexcept { return slots_ * sizeof(entry); }

  void drop_oldest(std::size_t n) noexcept;
  // Everything later than `tick` becomes one entry at `tick`.
  void stamp_back(std::int64_t tick) noexcept;
  // Adds units at `tick`, which is not before the newest entry. Grows by doubling, up to `most`
  // entries (at least one more than there are). May throw std::bad_alloc, then nothing changed.
  void add(std::int64_t tick, std::int64_t units, std::size_t most);
  // Takes up to `units` away from the entry at exactly `tick`; returns how many there were.
  std::int64_t remove(std::int64_t tick, std::int64_t units) noexcept;

  // The burst's window, as in the other window algorithms.
  std::int64_t burst_index = 0;
  std::int64_t burst_used = 0;

 private:
  [[nodiscard]] std::size_t slot(std::size_t i) const noexcept {
    const std::size_t s = first_ + i;
    return s < slots_ ? s : s - slots_;
  }
  void grow(std::size_t most);

  std::unique_ptr<entry[]> ring_;
  std::size_t slots_ = 0;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::int64_t total_ = 0;
};

// As take() for the other algorithms, on a state that grows: refused requests charge nothing, cost
// 0 changes nothing. Takes amortised constant time when admitted; a refusal looks at the oldest
// entries until enough units have left. Preconditions: kind is sliding_window_log, cost >= 0, `now`
// comes from ticks(). May throw std::bad_alloc when the log has to grow; nothing was charged then.
[[nodiscard]] verdict take(const compiled& q, log_state& s, std::int64_t now, std::int64_t cost);

// What take() would answer; changes nothing.
[[nodiscard]] verdict peek(const compiled& q, const log_state& s, std::int64_t now,
                           std::int64_t cost) noexcept;

// Takes back what was charged at tick `charged_at`, as far as it still counts.
verdict refund(const compiled& q, log_state& s, std::int64_t now, std::int64_t charged_at,
               std::int64_t cost) noexcept;

// First tick at which the log is as if untouched; 0 when it already is.
[[nodiscard]] std::int64_t expires_at(const compiled& q, const log_state& s) noexcept;

// As take_denied() in apply.hpp: a refused request is charged as far as it fits.
[[nodiscard]] verdict take_denied(const compiled& q, log_state& s, std::int64_t now,
                                  std::int64_t cost);

}  // namespace penstock::quotas
