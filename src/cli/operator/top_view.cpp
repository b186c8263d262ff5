#include "cli/operator/top_view.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "cli/operator/amounts.hpp"
#include "cli/operator/plain_text.hpp"
#include "cli/operator/report_text.hpp"

namespace penstock::cli {
namespace {

using enum text_table::side;

// Requests by outcome in a stretch of time.
struct stretch {
  std::int64_t ms = 0;
  std::int64_t allowed = 0, delayed = 0, refused = 0, degraded = 0, other = 0;
};

stretch counted_until(const object& status) {
  const object& r = object_of(status, "requests");
  const auto n = [&r](std::string_view name) { return number_of(r, name); };
  return {.ms = number_of(status, "now_ms"),
          .allowed = n("allowed"),
          .delayed = n("delayed"),
          .refused = n("refused"),
          .degraded = n("degraded_allowed") + n("degraded_refused"),
          .other = n("exempt") + n("blocked") + n("banned") + n("bad_request")};
}

stretch latest_stretch(const top_frame& now, const top_frame* before) {
  if (before != nullptr) {
    const stretch a = counted_until(before->status), b = counted_until(now.status);
    return {.ms = b.ms - a.ms,
            .allowed = b.allowed - a.allowed,
            .delayed = b.delayed - a.delayed,
            .refused = b.refused - a.refused,
            .degraded = b.degraded - a.degraded,
            .other = b.other - a.other};
  }
  const auto samples = rows_of(now.history, "samples");
  if (samples.empty()) return {};
  const object& last = samples.back();
  const auto n = [&last](std::string_view name) { return number_of(last, name); };
  return {.ms = n("length_ms"),
          .allowed = n("allowed"),
          .delayed = n("delayed"),
          .refused = n("refused"),
          .degraded = n("degraded"),
          .other = n("other")};
}

std::string rates_line(const stretch& s) {
  if (s.ms <= 0) return "requests   not measured yet";
  std::string text = "requests   allowed " + rate_text(s.allowed, s.ms) + ", refused " +
                     rate_text(s.refused, s.ms);
  for (const auto& [says, n] : {std::pair{"delayed", s.delayed}, std::pair{"degraded", s.degraded},
                                std::pair{"exempt, blocked, banned or bad", s.other}}) {
    if (n > 0) text.append(", ").append(says).append(" ").append(rate_text(n, s.ms));
  }
  // To the nearest second: it is said for orientation only.
  const std::int64_t span = s.ms < 1000 ? s.ms : (s.ms + 500) / 1000 * 1000;
  return text + "  (last " + time_text(span) + ")";
}

text_table busiest_limits(const top_frame& now, const top_frame* before, std::int64_t ms) {
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> then;
  if (before != nullptr) {
    for (const auto& l : rows_of(before->limits, "limits")) {
      then[text_of(l, "name")] = {number_of(l, "admitted"), number_of(l, "refused")};
    }
  }
  struct row {
    std::int64_t order = 0;
    std::vector<std::string> cells;
  };
  std::vector<row> rows;
  for (const auto& l : rows_of(now.limits, "limits")) {
    const auto admitted = number_of(l, "admitted"), refused = number_of(l, "refused");
    const auto old = then.find(text_of(l, "name"));
    std::string admits = "-", refuses = "-";
    std::int64_t order = refused;
    if (old != then.end()) {
      order = refused - old->second.second;
      admits = rate_text(admitted - old->second.first, ms);
      refuses = rate_text(order, ms);
    }
    const bool overridden = !object_of(l, "override").empty();
    rows.push_back({order,
                    {text_of(l, "name"), text_of(l, "key"),
                     text_of(l, "quota") + (overridden ? " (override)" : ""), text_of(l, "mode"),
                     admits, refuses, std::to_string(admitted), std::to_string(refused),
                     std::to_string(number_of(l, "shadow_refused"))}});
  }
  std::ranges::stable_sort(rows, std::greater{}, &row::order);
  text_table table({{"LIMIT"},
                    {"COUNTS BY"},
                    {"QUOTA"},
                    {"MODE"},
                    {"ADMITS", right},
                    {"REFUSES", right},
                    {"ADMITTED", right},
                    {"REFUSED", right},
                    {"SHADOW", right}});
  for (const auto& r : rows) table.add(r.cells);
  return table;
}

text_table top_keys(const object& offenders, const std::string& by, const std::string& window) {
  std::string title = "TOP KEYS BY " + by + ", " + window;
  const auto instances = number_of(offenders, "instances");
  if (instances > 1) title += ", " + std::to_string(instances) + " instances";
  // A daemon that does not say knows its own figures only, and no other instances.
  if (offenders.contains("whole") && !flag_of(offenders, "whole")) title += ", others not heard";
  text_table table({{title}, {"LIMIT"}, {"COUNT", right}});
  for (const auto& k : rows_of(offenders, "top")) {
    const auto least = number_of(k, "at_least"), most = number_of(k, "at_most");
    table.add({text_of(k, "key"), text_of(k, "limit"),
               least == most ? std::to_string(least)
                             : std::to_string(least) + " to " + std::to_string(most)});
  }
  return table;
}

// The first `most` lines; the last of them says how many rows are left out.
std::vector<std::string> first_of(std::vector<std::string> lines, std::size_t most) {
  if (lines.size() <= most) return lines;
  const auto left_out = lines.size() - most + 1;
  lines.resize(most);
  if (most > 1) lines.back() = "... " + std::to_string(left_out) + " more";
  return lines;
}

}  // namespace

std::vector<std::string> top_lines(const top_frame& now, const top_frame* before,
                                   const top_options& options) {
  if (before != nullptr &&
      number_of(before->status, "started_at_ms") != number_of(now.status, "started_at_ms")) {
    before = nullptr;
  }
  const stretch latest = latest_stretch(now, before);
  auto lines = process_lines(now.status, options.at);
  lines.push_back(rates_line(latest));
  lines.push_back(detail_lines(now.status).front());

  const auto limits = busiest_limits(now, before, latest.ms).lines(options.columns);
  const auto keys = top_keys(now.offenders, options.by, options.window).lines(options.columns);
  const auto refusals = refusals_table(now.refusals).lines(options.columns);
  // A third of what is left for each of the three; what one does not need goes to the next.
  std::size_t left =
      options.rows == 0 ? SIZE_MAX : options.rows - std::min(options.rows, lines.size());
  std::size_t parts = 3;
  for (const auto* part : {&limits, &keys, &refusals}) {
    const std::size_t share = left / parts--;
    if (share < 3) break;  // an empty line, the titles and one row
    const auto shown = first_of(*part, share - 1);
    lines.emplace_back();
    lines.insert(lines.end(), shown.begin(), shown.end());
    if (options.rows != 0) left -= shown.size() + 1;
  }
  if (options.rows != 0) lines.resize(std::min(lines.size(), options.rows));
  for (auto& line : lines) {
    if (options.columns != 0) line = cut(line, options.columns);
  }
  return lines;
}

}  // namespace penstock::cli
