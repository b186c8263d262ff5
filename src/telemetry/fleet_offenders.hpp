// The offenders of several processes as one: what a process tells the others about its own, and
// what it makes of theirs. Keys meet by the names of their limits and their texts, since ids and
// slots mean something inside one process only. What others wrote is read as hostile: wrong in one
// place is wrong altogether, and nothing is kept beyond the limits here. Pure.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/limit_slots.hpp"
#include "telemetry/offenders.hpp"

namespace penstock::telemetry {

struct named_count {
  std::string limit;
  std::string key;
  std::uint64_t at_least = 0;
  std::uint64_t at_most = 0;

  friend bool operator==(const named_count&, const named_count&) = default;
};

// As key_summary, without ids.
struct named_summary {
  std::vector<named_count> keys;
  std::uint64_t total = 0;
  std::uint64_t floor = 0;

  friend bool operator==(const named_summary&, const named_summary&) = default;
};

// [ranking][window]
using process_offenders = std::array<std::array<named_summary, windows>, rankings>;

// All keys of the report, with the names of their limits.
[[nodiscard]] named_summary named(const offender_report& r, const limit_slots& slots);

// Octets of a text, and keys of one summary in it. What does not fit raises the floor.
inline constexpr std::size_t offenders_text_max = std::size_t{32} << 10U;
inline constexpr std::size_t offenders_keys_max = 32;

[[nodiscard]] std::string write_offenders(const process_offenders& of);
// Nothing when the text is not exactly what write_offenders writes, of this version.
[[nodiscard]] std::optional<process_offenders> read_offenders(std::string_view text);

// Sums of all; the `n` keys with most. Every bound still holds, and errors add up.
[[nodiscard]] named_summary merged(const std::vector<named_summary>& all, std::size_t n);

}  // namespace penstock::telemetry
