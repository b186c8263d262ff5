#include <algorithm>
#include <array>

#include "base/text_writer.hpp"
#include "policy/policy_impl.hpp"

namespace penstock::policy {

namespace {

constexpr std::string_view reason_never = "cost_exceeds_limit";
constexpr std::string_view reason_missing_key = "missing_key";
constexpr std::string_view reason_banned = "banned";
constexpr std::size_t labels_max = 64;  // charges of one plan

// `start`: "Name: ", or empty for a header that is switched off.
void write_line(text_writer& to, std::string_view start, std::int64_t value) {
  if (!start.empty()) to.text(start).integer(value).text("\r\n");
}

// Seconds since the epoch, rounded up.
std::int64_t epoch_seconds(instant t) noexcept {
  return ceil_seconds(t.time_since_epoch());
}

}  // namespace

void decision::clear() noexcept {
  what = outcome::allow;
  status = 200;
  delay = {};
  reported = no_limit;
  shadow_refused = false;
  headers.clear();
  body.clear();
  content_type = {};
}

// What the verdicts of one request amount to.
struct policy_impl::verdict_summary {
  static constexpr std::size_t none = SIZE_MAX;
  bool refused = false;
  bool shadow_refused = false;
  std::size_t reported = none;  // index of the charge
  duration delay{};
};

const window& policy_impl::window_of(std::uint32_t limit, const counter& what) const noexcept {
  const window* by_id = nullptr;
  const window* any = &windows_.front();  // a charge came from some window
  for (const window_range& r : limits_[limit].rates) {
    for (std::uint32_t i = r.first; i < r.first + r.count; ++i) {
      const window& w = windows_[i];
      if (&w.what == &what) return w;
      if (by_id == nullptr && w.what.id == what.id) by_id = &w;
      any = &w;
    }
  }
  return by_id != nullptr ? *by_id : *any;
}

// The refusing charge with the longest wait, otherwise the one with the least remaining; ties in
// file order. No wait at all is longer than any.
policy_impl::verdict_summary policy_impl::summarise(
    const plan& plan, std::span<const verdict> verdicts) const noexcept {
  verdict_summary s;
  s.shadow_refused = plan.shadow_denied;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const verdict& v = verdicts[i];
    if (plan.charges[i].as == role::shadow) {
      s.shadow_refused = s.shadow_refused || !v.admitted;
      continue;
    }
    s.delay = std::max(s.delay, v.delay);
    const verdict* const best =
        s.reported == verdict_summary::none ? nullptr : &verdicts[s.reported];
    bool better = best == nullptr;
    if (!v.admitted) {
      better = better || !s.refused || (v.never && !best->never) ||
               (v.never == best->never && v.retry_after > best->retry_after);
      s.refused = true;
    } else {
      better = better || (!s.refused && v.remaining < best->remaining);
    }
    if (better) s.reported = i;
  }
  if (s.refused) s.delay = {};
  return s;
}

void policy_impl::write_ietf(const plan& plan, std::span<const verdict> verdicts,
                             std::span<const window* const> windows, text_writer& to) const {
  std::string_view before = "RateLimit-Policy: ";
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (plan.charges[i].as == role::shadow) continue;
    to.text(before).text(windows[i]->policy_item);
    before = ", ";
  }
  before = "\r\nRateLimit: ";
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (plan.charges[i].as == role::shadow) continue;
    to.text(before).text(windows[i]->item).integer(verdicts[i].remaining);
    to.text(";t=").integer(ceil_seconds(verdicts[i].next_after));
    before = ", ";
  }
  to.text("\r\n");
}

void policy_impl::write_rate_headers(const plan& plan, std::span<const verdict> verdicts,
                                     std::span<const window* const> windows,
                                     const verdict_summary& s, instant decided_at,
                                     text_writer& to) const {
  if (s.reported != verdict_summary::none && (s.refused || responses_.on_success)) {
    const verdict& v = verdicts[s.reported];
    if (responses_.x_ratelimit) {
      const header_names& names = line_starts_;
      write_line(to, names.limit, v.limit);
      write_line(to, names.remaining, v.remaining);
      write_line(to, names.reset, epoch_seconds(decided_at + v.reset_after));
      const std::int64_t period = windows[s.reported]->period_seconds;
      if (period > 0) write_line(to, names.window, period);
    }
    if (responses_.ietf) write_ietf(plan, verdicts, windows, to);
  }
  if (!responses_.shadow_header || !s.shadow_refused) return;
  std::string_view before = "X-RateLimit-Shadow: ";
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (plan.charges[i].as != role::shadow || verdicts[i].admitted) continue;
    to.text(before).text(windows[i]->label);
    before = ", ";
  }
  if (before == ", ") to.text("\r\n");
}

void policy_impl::refuse(const request_view& request, std::uint32_t limit, const refusal& what,
                         decision& out) const {
  out.what = outcome::deny;
  out.reported = limit;
  {
    text_writer to(out.headers);
    if (what.retry_after) write_line(to, "Retry-After: ", *what.retry_after);
    to.text("Cache-Control: no-store\r\n");
  }
  responders_[limits_[limit].response].write(request.fields, what, out);
}

void policy_impl::conclude(const request_view& request, const plan& plan,
                           std::span<const verdict> verdicts, conclude_inputs in,
                           decision& out) const {
  out.clear();
  switch (plan.what) {
    case planned::check:
      break;
    case planned::exempt:
      return;
    case planned::bad_request:
      out.what = outcome::deny;
      return write_bad_request(plan.reason, out);
    case planned::blocked:
      out.what = outcome::deny;
      return write_blocked(out);
    case planned::deny: {
      const std::string_view label = infos_[plan.denied_by].name;
      return refuse(request, plan.denied_by,
                    {.limit = label,
                     .retry_after = {},
                     .reason = reason_missing_key,
                     .violated = {&label, 1}},
                    out);
    }
  }
  const verdict_summary s = summarise(plan, verdicts);
  out.shadow_refused = s.shadow_refused;
  std::array<const window*, labels_max> window_at;
  const std::span<const window*> windows = std::span(window_at).first(verdicts.size());
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    windows[i] = &window_of(plan.limit_of[i], *plan.charges[i].what);
  }
  {
    text_writer to(out.headers);
    write_rate_headers(plan, verdicts, windows, s, in.decided_at, to);
  }
  if (s.reported == verdict_summary::none) return;
  const std::uint32_t limit = plan.limit_of[s.reported];
  out.reported = limit;
  if (!s.refused) {
    out.delay = s.delay;
    if (s.delay > duration{0}) out.what = outcome::delay;
    return;
  }

  std::array<std::string_view, labels_max> violated;
  std::size_t count = 0;
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    if (plan.charges[i].as == role::shadow || verdicts[i].admitted) continue;
    violated[count++] = windows[i]->label;
  }
  const verdict& v = verdicts[s.reported];
  refusal what{.limit = infos_[limit].name,
               .quota = v.limit,
               .retry_after = {},
               .reason = reason_never,
               .violated = std::span(violated).first(count)};
  if (!v.never) {
    // Jitter only ever lengthens the wait: a client that comes back on time must pass.
    const auto range = static_cast<std::uint64_t>(limits_[limit].jitter_us) + 1;
    const duration jitter{static_cast<std::int64_t>(in.jitter % range)};
    // A limit that counted this refusal admits the request itself, but may be full by now.
    duration wait = v.retry_after;
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
      if (plan.charges[i].as == role::enforce) wait = std::max(wait, verdicts[i].retry_after);
    }
    what.retry_after = std::max<std::int64_t>(1, ceil_seconds(wait + jitter));
  }
  refuse(request, limit, what, out);
}

void policy_impl::conclude_unavailable(const request_view& request, decision& out) const {
  out.clear();
  out.what = outcome::degraded_deny;
  write_unavailable(request.fields, out);
}

void policy_impl::conclude_banned(const request_view& request, std::uint32_t limit,
                                  duration remaining, decision& out) const {
  out.clear();
  const std::string_view label = infos_[limit].name;
  refuse(request, limit,
         {.limit = label,
          .retry_after = std::max<std::int64_t>(1, ceil_seconds(remaining)),
          .reason = reason_banned,
          .violated = {&label, 1}},
         out);
}

}  // namespace penstock::policy
