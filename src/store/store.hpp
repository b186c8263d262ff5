// The store contract: who keeps counters answers a batch of charges in one atomic step.
//
// All enforcing charges are taken or none; shadow charges are taken exactly when all enforcing ones
// admit and the shadow limit itself would. A limit that admits is left untouched when another one
// refuses, unless it counts refusals: then it is charged, says that it admits, and tells in
// `retry_after` when it would again, so that the longest wait of a batch is the request's. The
// memory store answers before `check` returns, without suspension or allocation; a remote store may
// answer later on the same event loop.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <penstock/clock.hpp>
#include <penstock/decision.hpp>

#include "quota/charge.hpp"

namespace penstock::store {

enum class progress : std::uint8_t { done, pending };
enum class intent : std::uint8_t { take, peek };  // peek answers and changes nothing

// One request's charges. Owned by the caller, who keeps it in place until it is done.
struct batch {
  std::span<const charge> charges;  // at most max_charges
  std::span<verdict> verdicts;      // as many as charges, in their order; filled when done
  intent why = intent::take;
  instant decided_at{};               // the store's time of the decision; filled when done
  bool failed = false;                // the store could not answer: verdicts are not meaningful
  void (*on_done)(batch&) = nullptr;  // called once after `pending`, never after `done`
};

inline constexpr std::size_t max_charges = 64;

class store {
 public:
  virtual ~store() = default;

  // `now` is used by stores without a clock of their own (memory) and ignored by the others.
  virtual progress check(batch& b, instant now) = 0;

  // The caller gives up a pending batch: on_done is not called any more and the batch may be
  // destroyed when this returns. What was or will be taken for it stays taken. Nothing to do where
  // batches are never pending.
  virtual void abandon(batch& /*b*/) {}

  // Takes each charge for itself, as far as it fits, also one that says `only_check`, and tells
  // nobody: what a response turned out to cost. The keys are not used after the call returns.
  // This default asks again for what a refusal says is left; a store that may be pending, or that
  // can do it in one step, has its own.
  virtual void record(std::span<const charge> charges, instant now) {
    for (charge one : charges) {
      one.only_check = false;
      while (one.cost > 0) {
        verdict v;
        batch b;
        b.charges = {&one, 1};
        b.verdicts = {&v, 1};
        check(b, now);
        if (b.failed || v.admitted) break;
        one.cost = std::min(one.cost - 1, v.remaining);
      }
    }
  }

  // Takes back charges of a batch that was admitted at `charged_at`. Best effort, never an error to
  // the caller: what cannot be taken back any more has expired.
  virtual void refund(std::span<const charge> charges, instant charged_at, instant now) = 0;

  // Forgets what is counted for one key.
  virtual void reset(const counter& what, std::string_view key) = 0;
};

}  // namespace penstock::store
