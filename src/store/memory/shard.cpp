#include "store/memory/shard.hpp"

#include <array>

namespace penstock::store {
namespace {

duration of_ticks(const quotas::compiled& q, std::int64_t ticks) {
  return duration{ticks * q.tick_us};
}

occupant examine_verdict(const quotas::compiled& q, std::int64_t now, std::int64_t expires,
                         const verdict& one_more) {
  occupant o;
  o.expired = expires <= now;
  o.refusing = !o.expired && !one_more.admitted;
  o.until_free = one_more.retry_after;
  o.until_full = of_ticks(q, expires - now);
  return o;
}

// Half as much again at each step, and the last step ends at `most`: every growth leaves a third of
// the slots free, so that hardly a name finds none.
std::uint32_t next_size(std::uint32_t lines, std::uint32_t most) {
  std::uint32_t size = most;
  while (size / 3 * 2 > lines && size / 3 * 2 >= slot_table::first_lines) size = size / 3 * 2;
  return size;
}

bool is_taken(const slot* s, std::span<slot* const> taken) {
  return std::find(taken.begin(), taken.end(), s) != taken.end();
}

// The best of the slots offered so far.
class choice {
 public:
  choice(const known_counters& known, instant now, cell& looked_at)
      : known_(known), now_(now), looked_at_(looked_at) {}

  void offer(slot& s) {
    if (expired_ != nullptr) return;
    looked_at_.add(1);
    const occupant o = examine(s, known_, now_);
    if (o.expired) {
      expired_ = &s;
    } else if (o.refusing) {
      if (!waited_ || o.until_free < wait_) wait_ = o.until_free;
      waited_ = true;
    } else if (soonest_ == nullptr || o.until_full < until_full_) {
      soonest_ = &s;
      until_full_ = o.until_full;
    }
  }
  [[nodiscard]] slot* leaves() const { return expired_ != nullptr ? expired_ : soonest_; }
  // One second when there was nobody to wait for: all candidates belong to this very batch.
  [[nodiscard]] duration wait() const {
    return waited_ ? std::max(wait_, duration{1}) : duration{1'000'000};
  }

 private:
  const known_counters& known_;
  instant now_;
  cell& looked_at_;
  slot* expired_ = nullptr;
  slot* soonest_ = nullptr;
  duration until_full_{};
  duration wait_{};
  bool waited_ = false;
};

}  // namespace

quotas::state load_state(const slot& s, const known_counters& known) {
  return s.tag() == tag_whole ? whole_of(s)->state : known.by_tag(s.tag()).pack.unpack(s.word);
}

occupant examine(const slot& s, const known_counters& known, instant now) {
  if (s.tag() == tag_log) {
    const log_node& node = *log_of(s);
    const quotas::compiled& q = node.quota->quota;
    const std::int64_t tick = q.ticks(now);
    return examine_verdict(q, tick, quotas::expires_at(q, node.log),
                           quotas::peek(q, node.log, tick, 1));
  }
  const quotas::compiled& q =
      s.tag() == tag_whole ? whole_of(s)->quota->quota : known.by_tag(s.tag()).quota;
  const quotas::state state = load_state(s, known);
  const std::int64_t tick = q.ticks(now);
  return examine_verdict(q, tick, quotas::expires_at(q, state),
                         quotas::take(q, state, tick, 1).result);
}

std::size_t bytes_outside(const slot& s) {
  if (s.empty()) return 0;
  if (s.tag() == tag_whole) return sizeof(whole_state) + allocation_overhead;
  if (s.tag() != tag_log) return 0;
  return sizeof(log_node) + allocation_overhead + log_of(s)->log.memory_bytes();
}

void erase(shard& in, slot& s, byte_budget& budget) {
  if (s.empty()) return;
  budget.release(bytes_outside(s));
  if (s.tag() == tag_whole) delete whole_of(s);
  if (s.tag() == tag_log) delete log_of(s);
  s = slot{};
  --in.entries;
}

room find_room(shard& in, std::uint64_t name, std::size_t bytes_short, const known_counters& known,
               instant now, std::span<slot* const> taken) {
  const slot_table::places p = in.table.of(name);
  if (p.lines == 0) return {.wait = duration{1'000'000}};
  std::array<slot*, 8> mine{};
  for (std::size_t i = 0; i < 4; ++i) {
    mine[i] = &p.first->slots[i];
    mine[i + 4] = &p.second->slots[i];
  }
  slot* empty = nullptr;
  choice all(known, now, in.looked_at);
  choice with_bytes(known, now, in.looked_at);
  for (slot* s : mine) {
    if (is_taken(s, taken)) continue;
    if (s->empty()) {
      empty = s;
    } else if (bytes_short > 0 && bytes_outside(*s) >= bytes_short) {
      with_bytes.offer(*s);
    } else if (empty == nullptr) {
      all.offer(*s);
    }
  }
  if (bytes_short == 0) {
    slot* at = empty != nullptr ? empty : all.leaves();
    return {.at = at, .leaves = empty != nullptr ? nullptr : at, .wait = all.wait()};
  }
  if (with_bytes.leaves() != nullptr) {
    return {.at = with_bytes.leaves(), .leaves = with_bytes.leaves()};
  }
  slot* at = empty != nullptr ? empty : all.leaves();
  if (at == nullptr) return {.wait = std::min(all.wait(), with_bytes.wait())};
  constexpr std::uint32_t further = 64;
  const std::uint32_t slots = in.table.lines() * 4;
  for (std::uint32_t i = 0; i < std::min(further, slots); ++i) {
    slot& s = in.table.at(in.hand++ % slots);
    if (bytes_outside(s) >= bytes_short && !is_taken(&s, taken)) with_bytes.offer(s);
  }
  in.hand %= slots;
  slot* leaves = with_bytes.leaves();
  if (leaves == nullptr) return {.wait = with_bytes.wait()};
  return {.at = at, .leaves = leaves};
}

bool grow_for(shard& in, std::uint64_t name, std::uint32_t most_lines, byte_budget& budget,
              const known_counters& known, instant now) {
  const slot_table::places p = in.table.of(name);
  const std::uint32_t lines = p.lines;
  if (lines >= most_lines || in.stuck) return false;
  if (lines > 0) {
    if (in.table.find_empty(name) != nullptr) return false;
    for (const line* l : {p.first, p.second}) {
      for (const slot& s : l->slots) {
        in.looked_at.add(1);
        if (examine(s, known, now).expired) return false;
      }
    }
  }
  const std::uint32_t wanted = next_size(lines, most_lines);
  const std::size_t more = std::size_t{wanted - lines} * sizeof(line);
  if (!budget.reserve(more)) return false;
  if (in.table.grow(wanted)) return true;
  budget.release(more);
  in.stuck = true;
  return false;
}

}  // namespace penstock::store
