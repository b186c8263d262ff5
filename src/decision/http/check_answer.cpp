#include "decision/http/check_answer.hpp"

#include <charconv>
#include <optional>

#include "base/ascii.hpp"

namespace penstock::decision {
namespace {

constexpr std::string_view outcome_name(policy::outcome what) {
  switch (what) {
    case policy::outcome::allow:
      return "allow";
    case policy::outcome::delay:
      return "delay";
    case policy::outcome::deny:
      return "deny";
    case policy::outcome::degraded_allow:
      return "degraded_allow";
    case policy::outcome::degraded_deny:
      return "degraded_deny";
  }
  return "";
}

// Rounded up: whoever waits so long has waited long enough.
std::int64_t milliseconds(duration d) {
  return std::chrono::ceil<std::chrono::milliseconds>(d).count();
}

// Calls `each(name, value)` for each "Name: value\r\n".
template <class Each>
void for_each_line(std::string_view lines, Each each) {
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find("\r\n"), lines.size());
    const std::string_view line = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 2, lines.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    each(line.substr(0, colon), ascii::trim(line.substr(colon + 1)));
  }
}

std::optional<std::int64_t> retry_after(std::string_view lines) {
  std::optional<std::int64_t> found;
  for_each_line(lines, [&](std::string_view name, std::string_view value) {
    std::int64_t seconds = 0;
    const auto [stop, failed] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (name == "Retry-After" && failed == std::errc{}) found = seconds;
  });
  return found;
}

// Charges that were decided without the store are a part of the plan, in its order.
const policy::plan& decided_plan(const service::exchange_context& x) {
  return x.verdicts.size() == x.plan.charges.size() ? x.plan : x.local_plan;
}

std::string_view reason(const service::exchange_context& x) {
  if (x.banned) return "banned";
  if (x.decision.what == policy::outcome::degraded_deny) return "store unavailable";
  switch (x.plan.what) {
    case policy::planned::bad_request:
    case policy::planned::blocked:
      return x.plan.reason;
    case policy::planned::exempt:
      return "exempt";
    case policy::planned::deny:
      return "the request lacks what it is counted by";
    case policy::planned::check:
      break;
  }
  if (x.decision.what != policy::outcome::deny) return {};
  const auto& charges = decided_plan(x).charges;
  for (std::size_t i = 0; i < x.verdicts.size() && i < charges.size(); ++i) {
    if (x.verdicts[i].never && charges[i].as == role::enforce) return "the cost can never fit";
  }
  return "rate limit exceeded";
}

void write_verdict(net::json_writer& out, std::string_view name, const charge& c,
                   const verdict& v) {
  out.begin_object()
      .member("limit", name)
      .member("key", c.key)
      .member("mode", c.as == role::shadow ? "shadow" : "enforce")
      .member("cost", c.cost)
      .member("admitted", v.admitted)
      .member("quota", v.limit)
      .member("remaining", v.remaining);
  if (v.never) {
    out.key("retry_after_ms").null();
  } else {
    out.member("retry_after_ms", milliseconds(v.retry_after));
  }
  out.member("next_after_ms", milliseconds(v.next_after))
      .member("reset_after_ms", milliseconds(v.reset_after))
      .member("delay_ms", milliseconds(v.delay))
      .end_object();
}

}  // namespace

void write_check_answer(net::json_writer& out, const service::exchange_context& x) {
  const auto& d = x.decision;
  const auto limits = x.policy->limits();
  const bool refused = d.what == policy::outcome::deny || d.what == policy::outcome::degraded_deny;
  out.begin_object().member("allowed", !refused).member("outcome", outcome_name(d.what));
  out.member("status", d.status);
  out.member("delay_ms", d.what == policy::outcome::delay ? milliseconds(d.delay) : 0);
  if (d.reported < limits.size()) out.member("limit", limits[d.reported].name);
  if (refused) {
    if (const auto seconds = retry_after(d.headers)) out.member("retry_after", *seconds);
  }
  if (const auto why = reason(x); !why.empty()) out.member("reason", why);
  const auto& plan = decided_plan(x);
  out.key("limits").begin_array();
  for (std::size_t i = 0; i < x.verdicts.size() && i < plan.charges.size(); ++i) {
    write_verdict(out, limits[plan.limit_of[i]].name, plan.charges[i], x.verdicts[i]);
  }
  out.end_array();
  out.key("headers").begin_object();
  for_each_line(d.headers,
                [&](std::string_view name, std::string_view value) { out.member(name, value); });
  out.end_object().end_object();
}

void write_check_bad_target(net::json_writer& out, std::string_view why) {
  out.begin_object()
      .member("allowed", false)
      .member("outcome", outcome_name(policy::outcome::deny))
      .member("status", 400)
      .member("delay_ms", 0)
      .member("reason", why);
  out.key("limits").begin_array().end_array();
  out.key("headers").begin_object().end_object().end_object();
}

}  // namespace penstock::decision
