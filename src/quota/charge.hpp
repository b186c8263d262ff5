// What policy asks of a store and a store answers: charges against counters. Lives beside the
// quotas because policy and stores both speak it and neither includes the other.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "quota/compiled.hpp"

namespace penstock {

// Tells one object from every other that the process ever made, copies of it included: what a store
// remembers about an object by this number never meets another one at the same address.
// Thread-safe.
class object_serial {
 public:
  object_serial() noexcept : value_(next()) {}
  object_serial(const object_serial&) noexcept : value_(next()) {}
  object_serial& operator=(const object_serial&) noexcept {
    value_ = next();
    return *this;
  }
  ~object_serial() = default;

  [[nodiscard]] std::uint64_t value() const noexcept { return value_; }  // never 0

 private:
  static std::uint64_t next() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  std::uint64_t value_;
};

// What a charge counts against, apart from its key. `id` is unique per (limit name, algorithm,
// period): equal ids share counters across reloads and across plans of one limit, whatever the
// rates. Unchanged from its first use on; must outlive every batch that names it.
struct counter {
  std::string id;
  quotas::compiled quota;
  bool count_denied = false;  // also charged, up to its capacity, when the request is refused
  object_serial serial{};
};

enum class role : std::uint8_t { enforce, shadow };

struct charge {
  const counter* what = nullptr;
  std::string_view key;   // encoded by policy; borrowed until the batch is done
  std::int64_t cost = 1;  // >= 0; 0 reports only
  role as = role::enforce;
  // Decides as if `cost` were taken but takes nothing: for limits that count failed responses.
  bool only_check = false;
};

}  // namespace penstock
