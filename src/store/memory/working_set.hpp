// The counters of one batch while their shards are locked: found, decided on as working copies, and
// written back or left as they were. What `decide` needs of a store. Lives on the stack; allocates
// only for states outside slots. Not thread-safe: the caller holds the locks of all shards
// involved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/inline_vector.hpp"
#include "quota/charge.hpp"
#include "store/decide.hpp"
#include "store/memory/known_counters.hpp"
#include "store/memory/shard.hpp"
#include "store/store.hpp"

namespace penstock::store {

// What is shared by all batches of a store.
struct table_context {
  known_counters& known;
  byte_budget& budget;
  std::uint32_t most_lines;  // per shard
};

class working_set {
 public:
  working_set(const batch& b, instant now, table_context& table)
      : batch_(b), now_(now), table_(table) {}
  working_set(const working_set&) = delete;
  working_set& operator=(const working_set&) = delete;
  ~working_set();

  // Before the locks: the next charge of the batch counts under this name in this shard.
  void add(const known_counter& who, std::uint64_t name, shard& in);
  // Under the locks: finds every counter and chooses a place for each that is new. Shards may grow.
  void find_places();
  // After `decide`: stores what changed.
  void write_back();

  verdict take(std::size_t i, taking how);
  [[nodiscard]] verdict ask(std::size_t i, std::int64_t cost);
  void rollback();
  // Takes back what charge i took at `charged_at`; a counter that is not there any more stays so.
  void give_back(std::size_t i, instant charged_at);

 private:
  struct copy {
    const known_counter* who;
    std::uint64_t name;
    shard* in;
    bool stores = false;  // some charge may have to be kept
    bool stored = false;  // `at` holds this counter
    bool refused_room = false;
    slot* at = nullptr;
    room place{};                         // where to, when it is not stored yet
    std::size_t reserved = 0;             // bytes outside slots that are ours until they are used
    const known_quota* writer = nullptr;  // whose `after` is; null: unchanged
    quotas::state before{};
    quotas::state after{};
    // Logs are not copied: charges add up here and are taken at the end.
    log_node* node = nullptr;
    std::unique_ptr<quotas::log_state> imagined{};  // what a peek would have made of it
    const quotas::compiled* log_quota = nullptr;    // under which `pending` is to be taken
    std::int64_t pending = 0;
    const quotas::compiled* clamp_quota = nullptr;
    std::int64_t clamp = 0;  // a refused cost whose refusal has to store a clock that went back
  };

  [[nodiscard]] static std::size_t bytes_wanted(const copy& c);
  [[nodiscard]] static const quotas::log_state& log_in(const copy& c);
  void find_all();
  void choose_place(copy& c);
  [[nodiscard]] bool has_place(const copy& c) const { return c.stored || c.place.at != nullptr; }
  verdict no_room(copy& c, const quotas::compiled& q, duration wait);
  verdict take_state(copy& c, const charge& one, const known_quota* writer, taking how);
  [[nodiscard]] verdict peek_log(const copy& c, const quotas::compiled& q, std::int64_t cost) const;
  verdict take_log(copy& c, const charge& one, taking how);
  verdict take_log_denied(copy& c, const charge& one);
  [[nodiscard]] bool log_can_grow(copy& c, const quotas::compiled& q);
  void move_in(copy& c);
  void evict(copy& c, slot* s);
  void write_state(copy& c);
  void write_log(copy& c);

  const batch& batch_;
  instant now_;
  table_context& table_;
  inline_vector<copy, max_charges> copies_;
  struct of_charge {
    const known_quota* quota;
    std::uint8_t copy;
  };
  inline_vector<of_charge, max_charges> charges_;
};

}  // namespace penstock::store
