// One counter of one limit together with what response headers say of it. Immutable.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <penstock/result.hpp>

#include "base/text_writer.hpp"
#include "quota/charge.hpp"

namespace penstock::policy {

struct window {
  counter what;
  std::string label;        // the limit's name; "name/1h" when the limit has several windows
  std::string policy_item;  // "\"name\";q=100;w=60"
  std::string item;         // "\"name\";r="
  std::int64_t period_seconds = 0;  // 0: shorter than a second
};

// Errors: invalid_quota.
[[nodiscard]] result<window> make_window(std::string_view limit, const quota& q,
                                         bool one_of_several, bool count_denied);

// The id under which a counter's state is kept: limit, algorithm and period, and the burst's window
// where it differs, because states of different windows cannot be told apart later.
[[nodiscard]] std::string counter_id(std::string_view limit, const quota& q);

// Whole seconds, rounded up; negative durations are 0.
[[nodiscard]] constexpr std::int64_t ceil_seconds(duration d) noexcept {
  return d.count() <= 0 ? 0 : (d.count() - 1) / 1'000'000 + 1;
}

// Appends 0..largest_field_integer; what is outside is clamped.
void append_field_integer(std::string& out, std::int64_t value);

}  // namespace penstock::policy
