#include "quota/names.hpp"

#include <array>
#include <utility>

namespace penstock {

std::string_view to_string(algorithm a) noexcept {
  switch (a) {
    case algorithm::token_bucket:
      return "token_bucket";
    case algorithm::fixed_window:
      return "fixed_window";
    case algorithm::sliding_window_log:
      return "sliding_window_log";
    case algorithm::sliding_window_counter:
      return "sliding_window_counter";
    case algorithm::leaky_bucket:
      return "leaky_bucket";
  }
  return "unknown";
}

namespace quotas {

std::optional<algorithm> parse_algorithm(std::string_view name) noexcept {
  for (const algorithm a :
       {algorithm::token_bucket, algorithm::fixed_window, algorithm::sliding_window_log,
        algorithm::sliding_window_counter, algorithm::leaky_bucket}) {
    if (name == to_string(a)) return a;
  }
  if (name == "leaky_bucket_meter") return algorithm::token_bucket;
  return std::nullopt;
}

namespace {

struct unit {
  std::int64_t us;
  std::string_view name;
};

constexpr std::array<unit, 6> units{{{86'400'000'000, "d"},
                                     {3'600'000'000, "h"},
                                     {60'000'000, "min"},
                                     {1'000'000, "s"},
                                     {1'000, "ms"},
                                     {1, "us"}}};

std::pair<std::int64_t, std::string_view> in_largest_unit(duration d) {
  if (d.count() == 0) return {0, "s"};
  for (const unit& u : units) {
    if (d.count() % u.us == 0) return {d.count() / u.us, u.name};
  }
  return {d.count(), "us"};
}

}  // namespace

std::string duration_text(duration d) {
  const auto [n, name] = in_largest_unit(d);
  return std::to_string(n).append(name);
}

std::string rate_text(std::int64_t count, duration period) {
  const auto [n, name] = in_largest_unit(period);
  std::string text = std::to_string(count).append("/");
  if (n != 1) text += std::to_string(n);
  return text.append(name);
}

std::string describe(const quota& q) {
  const quota defaults;
  std::string text{to_string(q.kind)};
  text.append(" ").append(rate_text(q.count, q.period));
  if (q.burst) text.append(" burst ").append(std::to_string(*q.burst));
  if (q.burst_window) text.append(" burst_window ").append(duration_text(*q.burst_window));
  if (q.queue != 0) text.append(" queue ").append(std::to_string(q.queue));
  if (q.undelayed != 0) text.append(" undelayed ").append(std::to_string(q.undelayed));
  if (q.max_delay) text.append(" max_delay ").append(duration_text(*q.max_delay));
  if (q.max_entries != defaults.max_entries) {
    text.append(" max_entries ").append(std::to_string(q.max_entries));
  }
  return text;
}

}  // namespace quotas
}  // namespace penstock
