// Limits that can never bite because another one always refuses first.
#include <algorithm>

#include "config/lint.hpp"

namespace penstock::config {
namespace {

using policy::limit_spec;

// "{id}" and "*" match the same segments.
std::string shape(const std::string& pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '{') {
      out += pattern[i];
      continue;
    }
    out += '*';
    i = std::min(pattern.find('}', i), pattern.size() - 1);
  }
  return out;
}

template <class T>
bool same_set(std::vector<T> a, std::vector<T> b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

// Every request that `b` is for, `a` is for too.
bool covers(const policy::match_spec& a, const policy::match_spec& b) {
  return (a.methods.empty() || same_set(a.methods, b.methods)) &&
         (a.hosts.empty() || same_set(a.hosts, b.hosts)) &&
         (a.path.empty() || shape(a.path) == shape(b.path)) &&
         (a.except.empty() || same_set(a.except, b.except));
}

// Whatever shares a counter of `b` shares one of `a`.
bool coarser_key(const limit_spec& a, const limit_spec& b) {
  const auto& first = a.key.alternatives;
  const bool global =
      first.size() == 1 && first[0].size() == 1 && first[0][0].kind == policy::key_kind::global;
  if (global) return true;
  // A route is of its limit: the same word counts other things elsewhere.
  return a.key.text == b.key.text && a.key.text.find("route") == std::string::npos &&
         a.on_missing_key == b.on_missing_key;
}

bool charges_every_request_alike(const limit_spec& l) {
  return l.cost.header.empty() && l.count_statuses.empty() && !l.count_denied && !l.plan &&
         !l.rate.unlimited;
}

// a's rate is at most b's. The products need up to 99 bits.
bool slower(const quota& a, const quota& b) {
  __extension__ using wide = __int128;
  return wide{a.count} * b.period.count() <= wide{b.count} * a.period.count();
}

bool stricter(const quota& a, const quota& b) {
  if (a.kind != b.kind || a.burst_window || b.burst_window) return false;
  switch (a.kind) {
    case algorithm::token_bucket:
      return slower(a, b) && a.burst.value_or(a.count) <= b.burst.value_or(b.count);
    case algorithm::fixed_window:
    case algorithm::sliding_window_log:
    case algorithm::sliding_window_counter:
      return a.period == b.period && a.count <= b.count &&
             a.burst.value_or(0) <= b.burst.value_or(0);
    case algorithm::leaky_bucket:
      return false;  // it delays, and the delays of both count
  }
  return false;
}

}  // namespace

bool always_stricter(const limit_spec& other, const limit_spec& limit) {
  if (other.mode != policy::limit_mode::enforce) return false;
  if (!charges_every_request_alike(other) || !charges_every_request_alike(limit)) return false;
  if (other.cost.constant < limit.cost.constant) return false;
  if (!covers(other.match, limit.match) || !coarser_key(other, limit)) return false;
  return std::all_of(limit.rate.quotas.begin(), limit.rate.quotas.end(), [&](const quota& b) {
    return std::any_of(other.rate.quotas.begin(), other.rate.quotas.end(),
                       [&](const quota& a) { return stricter(a, b); });
  });
}

}  // namespace penstock::config
