#include "policy/window.hpp"

#include "base/checked.hpp"

namespace penstock::policy {

namespace {

std::string_view short_name(algorithm a) noexcept {
  switch (a) {
    case algorithm::token_bucket:
      return "tb";
    case algorithm::fixed_window:
      return "fw";
    case algorithm::sliding_window_log:
      return "sl";
    case algorithm::sliding_window_counter:
      return "sc";
    case algorithm::leaky_bucket:
      return "lb";
  }
  return "";
}

// "500ms", "1s", "1min", "1h", "1d": the largest unit that divides the period.
std::string period_text(duration period) {
  struct unit {
    std::int64_t us;
    std::string_view name;
  };
  constexpr unit units[] = {{86'400'000'000, "d"}, {3'600'000'000, "h"}, {60'000'000, "min"},
                            {1'000'000, "s"},      {1'000, "ms"},        {1, "us"}};
  for (const unit& u : units) {
    if (period.count() % u.us == 0) {
      return std::to_string(period.count() / u.us).append(u.name);
    }
  }
  return {};
}

// The time in which all `capacity` units come back: `q` units per `w` seconds is then what a client
// may really use in the long run, also for a bucket that holds more than one period's count.
duration advertised_window(const quotas::compiled& c) noexcept {
  if (c.capacity == 0 || c.unit_num == 0) return c.source.period;
  const std::int64_t ticks = mul_div_floor(c.capacity, c.unit_num, c.unit_den);
  return duration{mul_div_floor(ticks, c.tick_us, 1)};
}

}  // namespace

std::string counter_id(std::string_view limit, const quota& q) {
  std::string id(limit);
  id.append(":").append(short_name(q.kind)).append(":").append(std::to_string(q.period.count()));
  if (q.burst_window && *q.burst_window != q.period) {
    id.append(":").append(std::to_string(q.burst_window->count()));
  }
  return id;
}

result<window> make_window(std::string_view limit, const quota& q, bool one_of_several,
                           bool count_denied) {
  auto compiled = quotas::compile(q);
  if (!compiled) return compiled.error();
  window w;
  w.what = {counter_id(limit, q), *std::move(compiled), count_denied};
  w.label = one_of_several ? std::string(limit) + "/" + period_text(q.period) : std::string(limit);
  w.item.append("\"").append(w.label).append("\";r=");
  w.policy_item.append("\"").append(w.label).append("\";q=");
  append_field_integer(w.policy_item, w.what.quota.capacity);
  const duration advertised = advertised_window(w.what.quota);
  if (advertised >= duration{1'000'000}) {
    w.policy_item += ";w=";
    append_field_integer(w.policy_item, ceil_seconds(advertised));
  }
  if (q.period >= duration{1'000'000}) w.period_seconds = ceil_seconds(q.period);
  return w;
}

void append_field_integer(std::string& out, std::int64_t value) {
  text_writer(out).integer(value);
}

}  // namespace penstock::policy
