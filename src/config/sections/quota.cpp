// The keys that say a quota, at a limit and in a plan.
#include "config/grammar/number.hpp"
#include "config/sections/sections.hpp"

namespace penstock::config {
namespace {

void read_rate(const value& v, quota_draft& d) {
  rate r;
  if (!read_with(v, parse_rate, "a rate", r)) return;
  d.fields.rates.push_back(r);
  d.rate_values.push_back(v);
}

template <std::optional<std::int64_t> quota_fields::*Member,
          std::optional<value> quota_draft::*Where>
void read_units(const value& v, quota_draft& d) {
  d.*Where = v;
  std::int64_t n = -1;
  read_integer(v, 0, largest_count, n);
  if (n >= 0) d.fields.*Member = n;
}

template <std::optional<duration> quota_fields::*Member, std::optional<value> quota_draft::*Where>
void read_length(const value& v, quota_draft& d) {
  d.*Where = v;
  duration length{-1};
  read_duration(v, duration{0}, std::chrono::days{400}, length);
  if (length.count() >= 0) d.fields.*Member = length;
}

using f = quota_fields;
using d = quota_draft;

const field<quota_draft> table[] = {
    {{"algorithm",
      "one of token_bucket, fixed_window, sliding_window_log, sliding_window_counter, "
      "leaky_bucket, leaky_bucket_meter",
      "token_bucket",
      "How units are counted; see the page on algorithms. `leaky_bucket_meter` is the token "
      "bucket."},
     [](const value& v, quota_draft& q) {
       q.algorithm = v;
       read_with(v, parse_algorithm, "an algorithm", q.fields.kind);
     }},
    {{"rate", "rate", "none",
      "Units per period: `10/s`, `100/min`, `5000/10min`. `0` denies all; `unlimited` admits all."},
     [](const value& v, quota_draft& q) {
       q.rate = v;
       read_rate(v, q);
     }},
    {{"rates", "list of rates", "none",
      "Several windows that all must admit: `[5/s, 60/30s, 100/5min]`."},
     [](const value& v, quota_draft& q) {
       q.rates = v;
       read_sequence(v, "a list of rates", [&](const value& item) { read_rate(item, q); });
       if (v.raw().what == node::type::sequence && v.raw().items.empty())
         v.fail("the list is empty");
     }},
    {{"burst", "whole number", "the rate's count",
      "Token bucket: most units at once. Window algorithms: units above the rate per "
      "`burst_window`; none unless written."},
     read_units<&f::burst, &d::burst>},
    {{"burst_window", "duration", "the rate's period", "Window algorithms: the window of `burst`."},
     read_length<&f::burst_window, &d::burst_window>},
    {{"queue", "whole number", "0", "leaky_bucket: how many may wait; one more is served at once."},
     read_units<&f::queue, &d::queue>},
    {{"undelayed", "whole number", "0", "leaky_bucket: the first of the queue that pass at once."},
     read_units<&f::undelayed, &d::undelayed>},
    {{"max_delay", "duration", "none", "leaky_bucket: refuse rather than delay for longer."},
     read_length<&f::max_delay, &d::max_delay>},
    {{"max_entries", "whole number", "10000",
      "sliding_window_log: largest accepted count; a log keeps one entry a unit."},
     read_units<&f::max_entries, &d::max_entries>},
};

// The value to blame for a field's problem.
const std::optional<value>& place_of(const quota_draft& q, std::string_view field) {
  if (field == "burst") return q.burst;
  if (field == "burst_window") return q.burst_window;
  if (field == "queue") return q.queue;
  if (field == "undelayed") return q.undelayed;
  if (field == "max_delay") return q.max_delay;
  if (field == "max_entries") return q.max_entries;
  return q.rate;
}

}  // namespace

std::span<const field<quota_draft>> quota_table() {
  return table;
}

void finish_quota(const value& owner, const quota_draft& draft, policy::rate_spec& out) {
  if (draft.rate && draft.rates)
    return draft.rates->fail("rate and rates are both given", "keep one of them");
  if (!draft.rate && !draft.rates) return owner.fail("has no rate", "add for example rate: 10/s");
  for (const auto& p : to_quotas(draft.fields, out)) {
    if (p.field == "rate") {
      if (p.index < draft.rate_values.size()) draft.rate_values[p.index].fail(p.what);
    } else if (const auto& where = place_of(draft, p.field)) {
      where->fail(p.what);
    }
  }
}

}  // namespace penstock::config
