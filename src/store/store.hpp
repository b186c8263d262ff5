// The store contract: who keeps counters answers a batch of charges in one atomic step.
//
// All enforcing charges are taken or none; shadow charges are taken exactly when all enforcing ones
// admit and the shadow limit itself would. A limit that admits is left untouched when another one
// refuses, unless it counts refusals. The memory store answers before `check` returns, without
// suspension or allocation; a remote store may answer later on the same event loop.
#pragma once

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
  instant decided_at{};             // the store's time of the decision; filled when done
  bool failed = false;              // the store could not answer: verdicts are not meaningful
  void (*on_done)(batch&) = nullptr;  // called once after `pending`, never after `done`
};

inline constexpr std::size_t max_charges = 64;

class store {
 public:
  virtual ~store() = default;

  // `now` is used by stores without a clock of their own (memory) and ignored by the others.
  virtual progress check(batch& b, instant now) = 0;

  // Takes back charges of a batch that was admitted at `charged_at`. Best effort, never an error to
  // the caller: what cannot be taken back any more has expired.
  virtual void refund(std::span<const charge> charges, instant charged_at, instant now) = 0;

  // Forgets what is counted for one key.
  virtual void reset(const counter& what, std::string_view key) = 0;
};

}  // namespace penstock::store
