// The common batch in one go: few charges, each on a counter of its own that is in its table, or
// whose state is a word and has an empty slot to go to. No logs.
//
// What is not like that says so and changes nothing: the working_set then decides it. Lives on the
// stack, allocates nothing. Not thread-safe: from decide() on the caller holds the locks of all
// shards involved. The rules are those of decide.hpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "quota/bucket.hpp"
#include "quota/compiled.hpp"
#include "store/memory/known_counters.hpp"
#include "store/memory/shard.hpp"
#include "store/store.hpp"

namespace penstock::store {

// `Most`: charges at most; 1 makes the loops go away.
template <std::size_t Most>
class packed_batch {
 public:
  // Precondition: 1 to Most charges.
  packed_batch(const batch& b, instant now, const known_counters& known) noexcept
      : batch_(b), now_(now), known_(known) {}  // NOLINT(*-member-init): parts_ stays raw by intent

  // Before the locks: the next charge of the batch counts under this name in this shard, whose
  // table has it in these lines. False: the batch is not one for this class.
  [[nodiscard]] bool add(const known_counter& who, std::uint64_t name, shard& in,
                         slot_table::places lines) noexcept {
    if (batch_.charges[added_].only_check || who.quota->is_log()) return false;
    if constexpr (Most > 1) {
      for (std::size_t i = 0; i < added_; ++i) {
        if (parts_[i].name == name && parts_[i].in == &in) return false;
      }
    }
    part& p = parts_[added_++];
    p.quota = who.quota;
    p.name = name;
    p.in = &in;
    p.lines = lines;
    return true;
  }

  // Fills every verdict. False: the batch is not one for this class; the verdicts mean nothing.
  [[nodiscard]] bool decide() noexcept {
    bool admitted = true;
    bool shadows = false;
    bool counts_denied = false;
    for (std::size_t i = 0; i < size(); ++i) {
      part& p = parts_[i];
      p.at = p.in->table.find(p.name, p.lines);
      p.stored = p.at != nullptr;
      p.whole = p.stored && p.at->tag() == tag_whole;
      if (!p.whole && !p.quota->packs()) return false;
      const charge& c = batch_.charges[i];
      if (c.as == role::shadow) {
        p.changed = false;
        shadows = true;
        continue;
      }
      if (!take(i, c.cost)) return false;
      admitted = admitted && batch_.verdicts[i].admitted;
      counts_denied = counts_denied || c.what->count_denied;
    }
    if (!admitted && counts_denied) return false;
    if ((shadows || !admitted) && !conclude(admitted)) return false;
    return choose_places();
  }

  // Stores what decide() changed.
  void store() noexcept {
    for (std::size_t i = 0; i < size(); ++i) {
      const part& p = parts_[i];
      if (!p.changed) continue;
      if (p.whole) {
        *whole_of(*p.at) = {p.quota, p.next};
        continue;
      }
      *p.at = {(p.name << tag_bits) | p.quota->tag, p.word};
      if (!p.stored) p.in->entries.add(1);
    }
  }

 private:
  struct part {
    const known_quota* quota;
    std::uint64_t name;
    shard* in;
    slot_table::places lines;
    slot* at;
    bool stored;  // `at` holds this counter,
    bool whole;   // and its state stands outside the slot
    bool changed;
    std::uint64_t word;  // to be stored when `changed`
    quotas::state next;  // instead of it: `whole`
  };

  [[nodiscard]] std::size_t size() const noexcept { return Most == 1 ? 1 : added_; }

  // Shadow charges, and what the others have left when the request is refused.
  [[nodiscard]] bool conclude(bool admitted) noexcept {
    for (std::size_t i = 0; i < size(); ++i) {
      const charge& c = batch_.charges[i];
      if (c.as == role::shadow && !take_once_more(i, c.cost)) return false;
      // Cost 0 reports and changes nothing. What a refusal stores makes its retry_after hold.
      if (!admitted && batch_.verdicts[i].admitted && !take_once_more(i, 0)) return false;
    }
    return true;
  }

  [[nodiscard]] bool choose_places() noexcept {
    for (std::size_t i = 0; i < size(); ++i) {
      part& p = parts_[i];
      if (!p.changed || p.stored) continue;
      p.at = p.in->table.find_empty(p.name);
      if (p.at == nullptr) return false;
      if constexpr (Most > 1) {
        for (std::size_t other = 0; other < i; ++other) {
          if (parts_[other].at == p.at) return false;
        }
      }
    }
    return true;
  }

  // Apart from the one place where every charge passes, so that only there it is inline.
  [[nodiscard, gnu::noinline]] bool take_once_more(std::size_t i, std::int64_t cost) noexcept {
    return take(i, cost);
  }

  // False: the state has to move into the slot, or out of it.
  [[nodiscard, gnu::always_inline]] bool take(std::size_t i, std::int64_t cost) noexcept {
    part& p = parts_[i];
    verdict& answer = batch_.verdicts[i];
    const quotas::compiled& q = p.quota->quota;
    if (p.quota->pack.is_bucket() && (!p.stored || p.at->tag() == p.quota->tag)) {
      const std::int64_t time = q.ticks(now_) * q.unit_den;
      quotas::distance d;
      if (p.stored) {
        d = quotas::token_bucket::distance_of(q, static_cast<std::int64_t>(p.at->word), time);
      }
      const auto spent = quotas::token_bucket::decide(q, d, cost, answer);
      p.word = static_cast<std::uint64_t>(time + spent.ahead);
      p.changed = spent.changed;
      return true;
    }
    const quotas::state prior = p.stored ? load_state(*p.at, known_) : quotas::state{};
    const quotas::outcome out = quotas::take(q, prior, q.ticks(now_), cost);
    answer = out.result;
    p.changed = out.changed;
    if (!out.changed) return true;
    const bool fits = p.quota->packs() && p.quota->pack.pack(out.next, p.word);
    if (p.whole) p.next = out.next;
    return fits != p.whole;  // one that has begun or ceased to fit moves
  }

  const batch& batch_;
  instant now_;
  const known_counters& known_;
  std::size_t added_ = 0;
  std::array<part, Most> parts_;  // those added; the others stay raw
};

}  // namespace penstock::store
