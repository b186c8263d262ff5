// Gives every limit a place for its counters that stays the same for the life of the process, so
// that counters survive reloads and every loop counts without a look-up. The number of places, and
// with it the number of series, is bounded: limits beyond it share the last one, named "other".
// Thread-safe; meant for reloads, not for requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace penstock::telemetry {

// What metrics may say of a limit: all of it comes from the configuration.
struct limit_label {
  std::string name;
  std::string key_type;  // its key expression
  std::string endpoint;  // its match.path or "*"

  friend bool operator==(const limit_label&, const limit_label&) = default;
};

using slot = std::uint32_t;

inline constexpr std::size_t slots_max = 1024;
inline constexpr slot overflow_slot = slots_max;  // of every limit that found no place
inline constexpr slot no_slot = UINT32_MAX;       // no limit
inline constexpr std::size_t slot_count = slots_max + 1;

class limit_slots {
 public:
  // The slot of each label, in order. Equal labels have equal slots for good; a limit whose key or
  // path changed is another one.
  [[nodiscard]] std::vector<slot> assign(std::span<const limit_label> labels);

  struct entry {
    slot at;
    limit_label label;
  };
  // All slots given out so far, the overflow slot last if it is in use.
  [[nodiscard]] std::vector<entry> entries() const;

  // The label of a slot; {"", "", ""} for no_slot.
  [[nodiscard]] limit_label label(slot at) const;

  // How many limits were sent to the overflow slot.
  [[nodiscard]] std::uint64_t overflowed() const;

 private:
  mutable std::mutex mutex_;
  std::vector<limit_label> labels_;
  std::uint64_t overflowed_ = 0;
};

}  // namespace penstock::telemetry
