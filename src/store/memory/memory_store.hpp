// The store in this process: the default, nothing to install.
//
// Answers before `check` returns, without blocking and, once warm, without allocating. Bounded by
// bytes; when full, expired states go first, then the state soonest back to full, and a key that is
// being refused stays until its wait is over (see memory_stats). Work per call: a few slots, and
// now and then the growth of one shard (at most 3,584 slots). Thread-safe: shared by all event
// loops.
//
// Collisions: two keys share a counter only when shard and 54 bits of a keyed hash agree. With 10^7
// keys in 512 MiB the chance that any two do is 3.4e-7; nobody outside can look for such keys.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <penstock/result.hpp>

#include "base/siphash.hpp"
#include "store/memory/memory_table.hpp"
#include "store/memory/spin_lock.hpp"
#include "store/store.hpp"

namespace penstock::store {

class memory_store final : public store {
 public:
  struct options {
    std::size_t max_bytes = std::size_t{64} << 20U;  // at least 1 MiB
    // What keys are hashed with. Absent: fresh random bytes, as anything that clients reach must
    // have; tests give one to repeat a run.
    std::optional<hash128> secret{};
  };

  // Errors: invalid_argument when max_bytes is below 1 MiB.
  [[nodiscard]] static result<std::unique_ptr<memory_store>> create(options o);

  explicit memory_store(const options& o);

  progress check(batch& b, instant now) override;
  void record(std::span<const charge> charges, instant now) override;
  void refund(std::span<const charge> charges, instant charged_at, instant now) override;
  void reset(const counter& what, std::string_view key) override;

  // A sum over shards that others change meanwhile. Cost: one read per shard.
  [[nodiscard]] memory_stats stats() const { return table_.stats(); }

 private:
  memory_table<spin_lock> table_;
};

}  // namespace penstock::store
