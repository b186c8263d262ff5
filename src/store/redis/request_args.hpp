// The packed arguments of the scripts (scripts/prelude.lua reads them): every integer in 7 octets,
// little-endian, because that holds what a double holds and saves Redis the parsing of decimals.
// Pure; appends to memory that the caller reuses.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <penstock/clock.hpp>
#include <penstock/decision.hpp>

#include "quota/charge.hpp"

namespace penstock::store::redis {

enum class request_kind : std::uint8_t {
  take,
  peek,              // decides and writes nothing
  take_with_images,  // take, as one of several slots: answers what undoing needs
  record             // charges as far as it fits, whatever the verdict
};

// `given`: the time to decide at instead of Redis' own; for tests.
void append_check_args(std::string& out, std::span<const charge> charges, request_kind kind,
                       std::optional<instant> given = {});
// What was stored before and after a charge was taken, as the script answered; empty where it was
// not.
struct image {
  std::string before;
  std::string after;
};

// `verdicts` and `images`: what the check at `charged_at` said to `charges`, all of which were
// admitted where they enforce. peek: nothing was taken and nothing is written.
void append_undo_args(std::string& out, std::span<const charge> charges,
                      std::span<const verdict> verdicts, std::span<const image> images,
                      instant charged_at, request_kind kind, std::optional<instant> given = {});
void append_refund_args(std::string& out, std::span<const charge> charges, instant charged_at,
                        std::optional<instant> given = {});

}  // namespace penstock::store::redis
