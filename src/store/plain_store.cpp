#include "store/plain_store.hpp"

#include <algorithm>
#include <vector>

#include "quota/apply.hpp"
#include "quota/log.hpp"
#include "store/decide.hpp"

namespace penstock::store {

struct plain_cell {
  quotas::state state;
  quotas::log_state log;  // instead of the state where the algorithm is a log
};

namespace {

bool is_log(const counter& what) {
  return what.quota.source.kind == algorithm::sliding_window_log;
}

std::string name_of(const counter& what, std::string_view key) {
  std::string name = std::to_string(what.id.size());
  name.append(":").append(what.id).append(key);
  return name;
}

struct working {
  std::string name;
  plain_cell before;
  plain_cell after;
};

class plain_counters {
 public:
  plain_counters(const batch& b, instant now) : batch_(b), now_(now) {}

  void bring(const std::unordered_map<std::string, plain_cell>& cells) {
    for (const charge& c : batch_.charges) {
      std::string name = name_of(*c.what, c.key);
      const auto known = std::find_if(copies_.begin(), copies_.end(),
                                      [&](const working& w) { return w.name == name; });
      copy_of_.push_back(static_cast<std::size_t>(known - copies_.begin()));
      if (known != copies_.end()) continue;
      const auto cell = cells.find(name);
      const plain_cell stored = cell == cells.end() ? plain_cell{} : cell->second;
      copies_.push_back({std::move(name), stored, stored});
    }
  }

  verdict take(std::size_t i, taking how) {
    const charge& c = batch_.charges[i];
    const quotas::compiled& q = c.what->quota;
    const std::int64_t now = q.ticks(now_);
    plain_cell& cell = copies_[copy_of_[i]].after;
    if (is_log(*c.what)) {
      return how == taking::up_to_cap ? quotas::take_denied(q, cell.log, now, c.cost)
                                      : quotas::take(q, cell.log, now, c.cost);
    }
    const quotas::outcome out = how == taking::up_to_cap
                                    ? quotas::take_denied(q, cell.state, now, c.cost)
                                    : quotas::take(q, cell.state, now, c.cost);
    if (out.changed) cell.state = out.next;
    return out.result;
  }

  [[nodiscard]] verdict ask(std::size_t i, std::int64_t cost) const {
    const counter& what = *batch_.charges[i].what;
    const quotas::compiled& q = what.quota;
    const plain_cell& cell = copies_[copy_of_[i]].after;
    return is_log(what) ? quotas::peek(q, cell.log, q.ticks(now_), cost)
                        : quotas::take(q, cell.state, q.ticks(now_), cost).result;
  }

  void rollback() {
    for (working& w : copies_) w.after = w.before;
  }

  void write_back(std::unordered_map<std::string, plain_cell>& cells) {
    for (working& w : copies_) {
      if (w.after.state.present || w.after.log.size() > 0 || w.after.log.burst_used > 0) {
        cells[w.name] = std::move(w.after);
      }
    }
  }

 private:
  const batch& batch_;
  instant now_;
  std::vector<working> copies_;
  std::vector<std::size_t> copy_of_;  // for each charge
};

}  // namespace

plain_store::plain_store() = default;
plain_store::~plain_store() = default;

progress plain_store::check(batch& b, instant now) {
  const std::lock_guard lock(mutex_);
  plain_counters counters(b, now);
  counters.bring(cells_);
  decide(b, counters);
  b.decided_at = now;
  b.failed = false;
  if (b.why == intent::take) counters.write_back(cells_);
  return progress::done;
}

void plain_store::record(std::span<const charge> charges, instant now) {
  const std::lock_guard lock(mutex_);
  for (const charge& c : charges) {
    verdict unseen;
    batch one;
    one.charges = std::span(&c, 1);
    one.verdicts = std::span(&unseen, 1);
    plain_counters counters(one, now);
    counters.bring(cells_);
    (void)counters.take(0, taking::up_to_cap);
    counters.write_back(cells_);
  }
}

void plain_store::refund(std::span<const charge> charges, instant charged_at, instant now) {
  const std::lock_guard lock(mutex_);
  for (const charge& c : charges) {
    const auto cell = cells_.find(name_of(*c.what, c.key));
    if (cell == cells_.end()) continue;
    const quotas::compiled& q = c.what->quota;
    const std::int64_t tick = q.ticks(now);
    const std::int64_t charged = q.ticks(charged_at);
    if (is_log(*c.what)) {
      quotas::refund(q, cell->second.log, tick, charged, c.cost);
      continue;
    }
    const quotas::outcome out = quotas::refund(q, cell->second.state, tick, charged, c.cost);
    if (out.changed) cell->second.state = out.next;
  }
}

void plain_store::reset(const counter& what, std::string_view key) {
  const std::lock_guard lock(mutex_);
  cells_.erase(name_of(what, key));
}

}  // namespace penstock::store
