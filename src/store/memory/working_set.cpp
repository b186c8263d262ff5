#include "store/memory/working_set.hpp"

#include <algorithm>
#include <memory>

#include "quota/apply.hpp"

namespace penstock::store {
namespace {

constexpr std::size_t first_ring = 4 * sizeof(quotas::log_state::entry);

// No capacity is above 2^53: a larger cost is refused for good like this one, and adds up safely.

}  // namespace

working_set::~working_set() {
  for (const copy& c : copies_) table_.budget.release(c.reserved);
}

void working_set::add(const known_counter& who, std::uint64_t name, shard& in) {
  const charge& one = batch_.charges[charges_.size()];
  const bool stores = one.cost > 0 && !one.only_check;
  auto* const same = std::find_if(copies_.begin(), copies_.end(),
                                  [&](const copy& c) { return c.name == name && c.in == &in; });
  const auto index = static_cast<std::uint8_t>(same - copies_.begin());
  if (same == copies_.end()) copies_.emplace_back(&who, name, &in);
  charges_.emplace_back(who.quota, index);
  copy& c = copies_[index];
  c.stores = c.stores || stores;
}

std::size_t working_set::bytes_wanted(const copy& c) {
  if (c.who->quota->is_log()) return sizeof(log_node) + allocation_overhead + first_ring;
  return c.who->quota->packs() ? 0 : sizeof(whole_state) + allocation_overhead;
}

const quotas::log_state& working_set::log_in(const copy& c) {
  static const quotas::log_state empty;
  if (c.imagined != nullptr) return *c.imagined;
  return c.node == nullptr ? empty : c.node->log;
}

void working_set::find_all() {
  for (copy& c : copies_) {
    c.at = c.in->table.find(c.name);
    c.stored = c.at != nullptr;
  }
}

void working_set::find_places() {
  find_all();
  bool moved = false;
  for (const copy& c : copies_) {
    if (c.stored || !c.stores) continue;
    // A table that has just grown may still have no place for this very name.
    while (grow_for(*c.in, c.name, table_.most_lines, table_.budget, table_.known, now_)) {
      moved = true;
    }
  }
  if (moved) find_all();
  for (copy& c : copies_) {
    if (!c.stored) {
      if (c.stores) choose_place(c);
    } else if (c.who->quota->is_log()) {
      c.node = log_of(*c.at);
    } else {
      c.before = c.after = load_state(*c.at, table_.known);
    }
  }
}

void working_set::choose_place(copy& c) {
  const std::size_t bytes = bytes_wanted(c);
  std::size_t bytes_short = 0;
  if (bytes > 0 && table_.budget.reserve(bytes)) {
    c.reserved = bytes;
  } else {
    bytes_short = bytes;
  }
  inline_vector<slot*, 2 * max_charges> taken;
  for (const copy& other : copies_) {
    if (other.at != nullptr) taken.emplace_back(other.at);
    if (other.place.leaves != nullptr) taken.emplace_back(other.place.leaves);
  }
  c.place = find_room(*c.in, c.name, bytes_short, table_.known, now_, {taken.data(), taken.size()});
  c.at = c.place.at;
}

verdict working_set::no_room(copy& c, const quotas::compiled& q, duration wait) {
  if (batch_.why == intent::take && !c.refused_room) c.in->table_full.add(1);
  c.refused_room = true;
  const duration rounded{std::max<std::int64_t>(1, ceil_div(wait.count(), q.tick_us)) * q.tick_us};
  return {
      .limit = q.capacity, .retry_after = rounded, .reset_after = rounded, .next_after = rounded};
}

// On top of what the batch already takes from the same log: only then is the log copied.
verdict working_set::peek_log(const copy& c, const quotas::compiled& q, std::int64_t cost) const {
  const std::int64_t now = q.ticks(now_);
  if (c.pending == 0) return quotas::peek(q, log_in(c), now, cost);
  quotas::log_state imagined = log_in(c);
  (void)quotas::take(*c.log_quota, imagined, now, c.pending);
  return quotas::peek(q, imagined, now, cost);
}

verdict working_set::take(std::size_t i, taking how) {
  const charge& one = batch_.charges[i];
  copy& c = copies_[charges_[i].copy];
  if (c.who->quota->is_log()) return take_log(c, one, how);
  return take_state(c, one, charges_[i].quota, how);
}

verdict working_set::ask(std::size_t i, std::int64_t cost) {
  const quotas::compiled& q = batch_.charges[i].what->quota;
  const copy& c = copies_[charges_[i].copy];
  const std::int64_t now = q.ticks(now_);
  if (!c.who->quota->is_log()) return quotas::take(q, c.after, now, cost).result;
  return peek_log(c, q, cost);
}

void working_set::rollback() {
  for (copy& c : copies_) {
    c.after = c.before;
    c.writer = nullptr;
    c.pending = c.clamp = 0;
  }
}

void working_set::give_back(std::size_t i, instant charged_at) {
  const charge& one = batch_.charges[i];
  const quotas::compiled& q = one.what->quota;
  copy& c = copies_[charges_[i].copy];
  if (!c.stored) return;
  const std::int64_t now = q.ticks(now_);
  if (c.who->quota->is_log()) {
    quotas::refund(q, c.node->log, now, q.ticks(charged_at), one.cost);
    return;
  }
  const quotas::outcome out = quotas::refund(q, c.after, now, q.ticks(charged_at), one.cost);
  if (!out.changed) return;
  c.after = out.next;
  c.writer = charges_[i].quota;
}

verdict working_set::take_state(copy& c, const charge& one, const known_quota* writer, taking how) {
  const quotas::compiled& q = one.what->quota;
  const std::int64_t now = q.ticks(now_);
  const quotas::outcome out = how == taking::up_to_cap
                                  ? quotas::take_denied(q, c.after, now, one.cost)
                                  : quotas::take(q, c.after, now, one.cost);
  if (!out.changed) return out.result;
  if (!has_place(c)) return no_room(c, q, c.place.wait);
  c.after = out.next;
  c.writer = writer;
  return out.result;
}

verdict working_set::take_log(copy& c, const charge& one, taking how) {
  if (how == taking::up_to_cap) return take_log_denied(c, one);
  const quotas::compiled& q = one.what->quota;
  const std::int64_t now = q.ticks(now_);
  const verdict v = peek_log(c, q, one.cost);
  if (one.cost == 0) return v;
  if (!v.admitted) {
    c.clamp = one.cost;
    c.clamp_quota = &q;
    return v;
  }
  if (!has_place(c)) return no_room(c, q, c.place.wait);
  if (!log_can_grow(c, q)) {
    return no_room(c, q, quotas::peek(q, log_in(c), now, 0).next_after);
  }
  c.pending += one.cost;
  c.log_quota = &q;
  return v;
}

verdict working_set::take_log_denied(copy& c, const charge& one) {
  const quotas::compiled& q = one.what->quota;
  const std::int64_t now = q.ticks(now_);
  if (one.cost > 0 && !has_place(c)) return no_room(c, q, c.place.wait);
  if (one.cost == 0 || batch_.why == intent::peek || !log_can_grow(c, q)) {
    if (c.imagined == nullptr) c.imagined = std::make_unique<quotas::log_state>(log_in(c));
    return quotas::take_denied(q, *c.imagined, now, one.cost);
  }
  if (!c.stored) move_in(c);
  const std::size_t before = bytes_outside(*c.at);
  const verdict v = quotas::take_denied(q, c.node->log, now, one.cost);
  const std::size_t grown = bytes_outside(*c.at) - before;
  table_.budget.force(grown);
  return v;
}

// Whether one more entry has the bytes it may need. A full log without an expired entry doubles.
bool working_set::log_can_grow(copy& c, const quotas::compiled& q) {
  const quotas::log_state& log = log_in(c);
  const std::size_t slots = log.memory_bytes() / sizeof(quotas::log_state::entry);
  if (log.size() < slots || log.size() == 0) return true;
  if (log.at(0).tick <= q.ticks(now_) - q.period) return true;
  if (c.reserved > 0) return true;
  const std::size_t more = log.memory_bytes();
  if (!table_.budget.reserve(more)) return false;
  c.reserved = more;
  return true;
}

void working_set::evict(copy& c, slot* s) {
  if (s == nullptr || s->empty()) return;
  (examine(*s, table_.known, now_).expired ? c.in->evicted_expired : c.in->evicted_live).add(1);
  erase(*c.in, *s, table_.budget);
}

// Makes the chosen place the counter's own. What it holds is written by the caller.
void working_set::move_in(copy& c) {
  evict(c, c.place.leaves);
  evict(c, c.at);
  if (c.who->quota->is_log()) {
    auto node = std::make_unique<log_node>(log_node{c.who->quota, {}});
    c.node = node.get();
    const auto address = reinterpret_cast<std::uintptr_t>(node.release());
    *c.at = {(c.name << tag_bits) | tag_log, address};
    const std::size_t used = bytes_outside(*c.at);
    table_.budget.force(used);
  }
  c.in->entries.add(1);
  c.stored = true;
}

void working_set::write_back() {
  for (copy& c : copies_) {
    if (c.who->quota->is_log()) {
      write_log(c);
    } else if (c.writer != nullptr) {
      write_state(c);
    }
  }
}

void working_set::write_state(copy& c) {
  if (!c.stored) move_in(c);
  slot& s = *c.at;
  std::uint64_t word = 0;
  if (c.writer->packs() && c.writer->pack.pack(c.after, word)) {
    table_.budget.release(bytes_outside(s));
    if (s.tag() == tag_whole) delete whole_of(s);
    s = {(c.name << tag_bits) | c.writer->tag, word};
    return;
  }
  if (s.tag() != tag_whole) {
    auto whole = std::make_unique<whole_state>();
    const auto address = reinterpret_cast<std::uintptr_t>(whole.release());
    s = {(c.name << tag_bits) | tag_whole, address};
    table_.budget.force(bytes_outside(s));
  }
  *whole_of(s) = {c.writer, c.after};
}

void working_set::write_log(copy& c) {
  const bool takes = c.pending > 0;
  if (!takes && (c.clamp == 0 || !c.stored)) return;
  if (!c.stored) move_in(c);
  const std::size_t before = bytes_outside(*c.at);
  const quotas::compiled& q = takes ? *c.log_quota : *c.clamp_quota;
  (void)quotas::take(q, c.node->log, q.ticks(now_), takes ? c.pending : c.clamp);
  table_.budget.force(bytes_outside(*c.at) - before);
}

}  // namespace penstock::store
