// A change asked for through the admin API: its body as values, and the line that the audit log
// keeps of it. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <penstock/clock.hpp>
#include <penstock/result.hpp>

namespace penstock::admin {

struct change {
  std::string limit;   // empty: not given
  std::string key;     // empty: not given
  std::string quota;   // empty: not given
  std::string reason;  // empty: not given
  std::optional<duration> lasts;
};

// Reads a JSON object that has all of `required` and at most `optional` besides; names are those of
// the members of `change`, `for` is its `lasts` ("10min"). Texts: 1..256 octets. Errors:
// invalid_argument, a sentence that names the member.
[[nodiscard]] result<change> read_change(std::string_view body,
                                         std::span<const std::string_view> required,
                                         std::span<const std::string_view> optional);

struct audit_entry {
  instant at{};
  std::string_view action;  // "ban", …
  std::string_view peer;    // address as text, or "unix"
  const change* what = nullptr;
  std::string_view error;  // empty: done
};

// One line of JSON without its end; no control character of a client survives in it.
[[nodiscard]] std::string audit_line(const audit_entry& e);

// "2026-01-31T09:05:07Z".
[[nodiscard]] std::string iso_time(instant t);

}  // namespace penstock::admin
