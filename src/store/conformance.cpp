#include "store/conformance.hpp"

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "store/conformance_parts.hpp"

namespace penstock::store::conformance {
namespace {

std::string text_of(const want& w) {
  std::ostringstream out;
  out << (w.admitted ? "admitted" : "refused") << ", remaining " << w.remaining << ", retry ";
  if (w.retry_us == want::never) {
    out << "never";
  } else {
    out << w.retry_us << " us";
  }
  out << ", reset " << w.reset_us << " us, delay " << w.delay_us << " us";
  return out.str();
}

want seen_in(const verdict& v) {
  return {v.admitted, v.remaining, v.never ? want::never : v.retry_after.count(),
          v.reset_after.count(), v.delay.count()};
}

bool same(const want& a, const want& b) {
  return a.admitted == b.admitted && a.remaining == b.remaining && a.retry_us == b.retry_us &&
         a.reset_us == b.reset_us && a.delay_us == b.delay_us;
}

class player {
 public:
  player(const scenario& s, const tested_store& t, instant origin, std::string_view key_prefix)
      : scenario_(s), store_(t), origin_(origin), prefix_(key_prefix) {
    for (const limit& l : s.limits) {
      auto compiled = quotas::compile(l.q);
      if (!compiled) throw std::invalid_argument(s.name + ": " + compiled.error().message);
      counters_.push_back({.id = l.id, .quota = *compiled, .count_denied = l.count_denied});
    }
  }

  std::vector<std::string> play() {
    for (std::size_t i = 0; i < scenario_.steps.size(); ++i) play(i, scenario_.steps[i]);
    return std::move(differences_);
  }

 private:
  void play(std::size_t number, const step& st) {
    const instant now = origin_ + duration{st.at_us};
    store_.at(now);
    std::vector<std::string> keys;
    std::vector<charge> charges;
    for (const charge_row& r : st.charges) keys.push_back(prefix_ + r.key);
    for (std::size_t i = 0; i < st.charges.size(); ++i) {
      const charge_row& r = st.charges[i];
      charges.push_back({.what = &counters_.at(r.limit),
                         .key = keys[i],
                         .cost = r.cost,
                         .as = r.as,
                         .only_check = r.only_check});
    }
    switch (st.what) {
      case op::record:
        return store_.under_test.record(charges, now);
      case op::refund:
        return store_.under_test.refund(charges, origin_ + duration{st.charged_at_us}, now);
      case op::reset:
        for (const charge& c : charges) store_.under_test.reset(*c.what, c.key);
        return;
      case op::take:
      case op::peek:
        return ask(number, st, charges, now);
    }
  }

  void ask(std::size_t number, const step& st, const std::vector<charge>& charges, instant now) {
    std::vector<verdict> verdicts(charges.size());
    batch b;
    b.charges = charges;
    b.verdicts = verdicts;
    b.why = st.what == op::peek ? intent::peek : intent::take;
    if (store_.under_test.check(b, now) == progress::pending) store_.finish(b);
    const std::string where = scenario_.name + " step " + std::to_string(number + 1);
    if (b.failed) {
      differences_.push_back(where + ": the store failed");
      return;
    }
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      const want seen = seen_in(verdicts[i]);
      if (same(seen, st.wants.at(i))) continue;
      differences_.push_back(where + " charge " + std::to_string(i + 1) + ": " + text_of(seen) +
                             "; wanted " + text_of(st.wants[i]));
    }
  }

  const scenario& scenario_;
  const tested_store& store_;
  instant origin_;
  std::string prefix_;
  std::vector<counter> counters_;
  std::vector<std::string> differences_;
};

}  // namespace

std::vector<scenario> scenarios() {
  std::vector<scenario> all = algorithm_scenarios();
  for (scenario& s : all) {
    for (step& st : s.steps) {
      for (want& w : st.wants) {
        if (w.admitted) w.retry_us = 0;
      }
    }
  }
  for (scenario& s : batch_scenarios()) all.push_back(std::move(s));
  return all;
}

std::vector<std::string> play(const scenario& s, const tested_store& t, instant origin,
                              std::string_view key_prefix) {
  return player(s, t, origin, key_prefix).play();
}

}  // namespace penstock::store::conformance
