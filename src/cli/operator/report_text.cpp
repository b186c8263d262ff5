#include "cli/operator/report_text.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "cli/operator/amounts.hpp"
#include "cli/operator/plain_text.hpp"

namespace penstock::cli {
namespace {

using enum text_table::side;

std::string count_of(const object& from, std::string_view name) {
  return std::to_string(number_of(from, name));
}

// "10 of 20".
std::string remaining_text(const object& key) {
  return count_of(key, "remaining") + " of " + count_of(key, "units");
}

std::string state_text(const object& key) {
  if (key.contains("banned_until_ms") && !key.at("banned_until_ms").is_null()) {
    return "banned until " + instant_text(number_of(key, "banned_until_ms"));
  }
  if (!flag_of(key, "refusing")) return "admits";
  const auto wait = number_of(key, "retry_after_ms");
  return wait > 0 ? "refused for " + time_text(wait) : "refused, no wait helps";
}

}  // namespace

std::vector<std::string> process_lines(const object& status, const std::string& at) {
  const auto up = number_of(status, "now_ms") - number_of(status, "started_at_ms");
  std::vector<std::string> lines;
  lines.push_back("penstock " + plain_text(text_of(status, "version")) + " at " + at + ", up " +
                  time_text(up) + ", " + count_of(status, "workers") + " workers");

  std::string state = "not ready";
  const auto* const reasons = status.if_contains("reasons");
  const bool reasoned = reasons != nullptr && reasons->is_array() && !reasons->get_array().empty();
  if (flag_of(status, "ready")) state = reasoned ? "degraded" : "ready";
  if (reasoned) {
    const char* before = ": ";
    for (const auto& one : reasons->get_array()) {
      if (!one.is_string()) continue;
      state.append(before).append(plain_text(std::string_view(one.get_string())));
      before = "; ";
    }
  }
  lines.push_back("state      " + state);

  const object& policy = object_of(status, "policy");
  const std::string file = text_of(policy, "file");
  lines.push_back("policy     " + (file.empty() ? "from flags" : plain_text(file)) +
                  ", generation " + count_of(policy, "generation") + ", loaded " +
                  instant_text(number_of(policy, "loaded_at_ms")));

  const object& store = object_of(status, "store");
  const std::string kind = plain_text(text_of(store, "kind"));
  std::string text = "store      " + kind;
  if (kind != "memory") {
    const object& took = object_of(store, "duration");
    text += flag_of(store, "up") ? ", answers" : ", DOES NOT ANSWER";
    text += "; p50 " + short_time_text(number_of(took, "p50_ns")) + ", p99 " +
            short_time_text(number_of(took, "p99_ns")) + ", " + count_of(store, "errors") +
            " errors";
  }
  lines.push_back(std::move(text));
  return lines;
}

std::vector<std::string> detail_lines(const object& status) {
  std::vector<std::string> lines;
  const object& check = object_of(status, "check");
  lines.push_back("checks     p50 " + short_time_text(number_of(check, "p50_ns")) + ", p99 " +
                  short_time_text(number_of(check, "p99_ns")));
  std::string text = "requests  ";
  const object& requests = object_of(status, "requests");
  constexpr std::array<std::pair<std::string_view, std::string_view>, 9> outcomes{
      {{"allowed", "allowed"},
       {"delayed", "delayed"},
       {"refused", "refused"},
       {"degraded_allowed", "allowed without store"},
       {"degraded_refused", "refused without store"},
       {"exempt", "exempt"},
       {"blocked", "blocked"},
       {"banned", "banned"},
       {"bad_request", "bad"}}};
  const char* before = " ";
  for (const auto& [name, says] : outcomes) {
    if (number_of(requests, name) == 0 && name != "allowed" && name != "refused") continue;
    text.append(before).append(count_of(requests, name)).append(" ").append(says);
    before = ", ";
  }
  lines.push_back(std::move(text));
  for (const auto& one : rows_of(status, "listeners")) {
    lines.push_back("listens    " + plain_text(text_of(one, "face")) + " on " +
                    plain_text(text_of(one, "address")));
  }
  return lines;
}

text_table limits_table(const object& limits) {
  text_table table({{"LIMIT"},
                    {"COUNTS BY"},
                    {"PATH"},
                    {"QUOTA"},
                    {"MODE"},
                    {"ADMITTED", right},
                    {"REFUSED", right},
                    {"SHADOW", right}});
  for (const auto& l : rows_of(limits, "limits")) {
    const object& over = object_of(l, "override");
    table.add({text_of(l, "name"), text_of(l, "key"), text_of(l, "path"),
               text_of(l, "quota") + (over.empty() ? "" : " (override)"), text_of(l, "mode"),
               count_of(l, "admitted"), count_of(l, "refused"), count_of(l, "shadow_refused")});
  }
  return table;
}

text_table bans_table(const object& bans) {
  text_table table({{"BANNED"}, {"LIMIT"}, {"UNTIL"}, {"REASON"}});
  for (const auto& b : rows_of(bans, "bans")) {
    table.add({text_of(b, "key"), text_of(b, "limit"), instant_text(number_of(b, "until_ms")),
               flag_of(b, "by_limit") ? "by the limit itself" : text_of(b, "reason")});
  }
  return table;
}

text_table overrides_table(const object& overrides) {
  text_table table({{"OVERRIDDEN"}, {"QUOTA"}, {"UNTIL"}});
  for (const auto& o : rows_of(overrides, "overrides")) {
    table.add(
        {text_of(o, "limit"), text_of(o, "quota"), instant_text(number_of(o, "expires_at_ms"))});
  }
  return table;
}

text_table refusals_table(const object& refusals) {
  text_table table({{"REFUSED AT"},
                    {"LIMIT"},
                    {"KEY"},
                    {"CLIENT"},
                    {"STATUS", right},
                    {"WAIT", right},
                    {"REASON"},
                    {"REQUEST"}});
  for (const auto& r : rows_of(refusals, "refusals")) {
    const auto wait = number_of(r, "retry_after_ms");
    table.add({clock_text(number_of(r, "at_ms")), text_of(r, "limit"), text_of(r, "key"),
               text_of(r, "client"), count_of(r, "status"), wait > 0 ? time_text(wait) : "-",
               text_of(r, "reason"), text_of(r, "method") + " " + text_of(r, "path")});
  }
  return table;
}

text_table keys_table(const object& keys) {
  text_table table(
      {{"LIMIT"}, {"QUOTA"}, {"STATE"}, {"REMAINING", right}, {"FULL AGAIN IN", right}});
  for (const auto& k : rows_of(keys, "keys")) {
    table.add({text_of(k, "limit"), text_of(k, "quota"), state_text(k), remaining_text(k),
               time_text(number_of(k, "reset_after_ms"))});
  }
  return table;
}

}  // namespace penstock::cli
