// One batch against working copies of its counters: what is meant by "checked in one step".
//
// The rules of all-or-nothing, count_denied, only_check and shadow live here once. A store brings
// its counters under its locks, lets `decide` change the working copies, and writes back those that
// changed. Pure: no I/O, no clock, no lock of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include <penstock/decision.hpp>

#include "quota/charge.hpp"
#include "store/store.hpp"

namespace penstock::store {

// Which units a charge takes from its working copy.
enum class taking : std::uint8_t {
  all_or_none,  // the whole cost when it fits
  up_to_cap     // what fits of it, and refused: a limit that counts refusals
};

// `Counters` shows a batch its counters. Charges that name the same counter and key share one
// working copy, so the second is decided on top of the first.
//   verdict take(i, taking)  decides charge i on its working copy and changes that copy as the
//   quota
//                            says; a store without room for a new key refuses here
//   verdict ask(i, cost)     the same for another cost, without changing anything
//   void rollback()          every working copy is again as stored
// Fills every verdict. A limit that admits a request which another one refuses reports what it has
// left uncharged; one that counts refusals reports what is left after its charge, `admitted` by its
// own decision and, as `retry_after`, when it would admit the same again after that charge.
// Cost: at most three quota decisions per charge.
template <class Counters>
void decide(const batch& b, Counters& counters) {
  bool admitted = true;
  for (std::size_t i = 0; i < b.charges.size(); ++i) {
    const charge& c = b.charges[i];
    if (c.as == role::shadow) continue;
    b.verdicts[i] = c.only_check ? counters.ask(i, c.cost) : counters.take(i, taking::all_or_none);
    admitted = admitted && b.verdicts[i].admitted;
  }
  if (!admitted) counters.rollback();

  for (std::size_t i = 0; i < b.charges.size(); ++i) {
    const charge& c = b.charges[i];
    const bool takes = !c.only_check && admitted;
    if (c.as == role::shadow) {
      b.verdicts[i] = takes ? counters.take(i, taking::all_or_none) : counters.ask(i, c.cost);
    } else if (!admitted && c.what->count_denied && !c.only_check) {
      const bool admits = b.verdicts[i].admitted;  // then it is no reason for the refusal
      b.verdicts[i] = counters.take(i, taking::up_to_cap);
      b.verdicts[i].admitted = admits;
      continue;
    }
    if (b.verdicts[i].admitted) {
      if (!takes) b.verdicts[i] = counters.ask(i, 0);
    } else if (!counters.ask(i, c.cost).admitted) {
      // What a refusal stores (a clamped clock, a converted rate) makes its retry_after hold. One
      // that was refused only on top of an earlier charge of this batch would be taken: not stored.
      (void)counters.take(i, taking::all_or_none);
    }
  }
}

}  // namespace penstock::store
