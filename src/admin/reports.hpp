// The JSON of the admin API's answers. Instants are milliseconds since the Unix epoch (`…_ms`),
// durations milliseconds, both whole numbers. Pure.
#pragma once

#include <string>
#include <vector>

#include "admin/history.hpp"
#include "admin/operations.hpp"
#include "telemetry/metrics.hpp"

namespace penstock::admin {

[[nodiscard]] std::string status_json(const process_status& s, const readiness& r,
                                      const telemetry::totals& t, instant now);
// `counts` are matched by limit name.
[[nodiscard]] std::string limits_json(const std::vector<limit_info>& limits,
                                      const telemetry::totals& counts);
// Of `instances` processes together; whole: there are no others that could not be heard.
[[nodiscard]] std::string offenders_json(const telemetry::named_summary& s, duration covered,
                                         std::size_t instances, bool whole);
[[nodiscard]] std::string refusals_json(const std::vector<telemetry::refusal>& refusals,
                                        telemetry::limit_slots& slots);
[[nodiscard]] std::string events_json(const std::vector<telemetry::event>& events);
[[nodiscard]] std::string history_json(const std::vector<history::sample>& samples);
[[nodiscard]] std::string bans_json(const std::vector<ban_info>& bans);
[[nodiscard]] std::string overrides_json(const std::vector<override_info>& overrides);
[[nodiscard]] std::string keys_json(const std::vector<key_state>& keys);
[[nodiscard]] std::string ban_json(const ban_info& b);
[[nodiscard]] std::string override_json(const override_info& o);
// {"<name>": n}
[[nodiscard]] std::string number_json(std::string_view name, std::uint64_t n);
[[nodiscard]] std::string error_json(std::string_view sentence);

}  // namespace penstock::admin
