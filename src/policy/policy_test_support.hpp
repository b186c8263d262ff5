// Short ways to write policies, requests and verdicts in this folder's tests.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "policy/policy.hpp"

namespace penstock::policy::test {

inline quota per(std::int64_t count, duration period, algorithm kind = algorithm::fixed_window) {
  return {.kind = kind, .count = count, .period = period};
}

inline key_expression key_of(std::vector<std::vector<key_part>> alternatives) {
  return {std::move(alternatives), "as written"};
}

inline key_expression key_of(key_kind kind, std::string name = {}) {
  return key_of({{{kind, std::move(name)}}});
}

inline limit_spec limit(std::string name, key_expression key,
                        quota q = per(100, std::chrono::minutes{1})) {
  limit_spec l;
  l.name = std::move(name);
  l.key = std::move(key);
  l.rate.quotas = {q};
  return l;
}

inline std::shared_ptr<const compiled_policy> compiled(const policy_spec& spec,
                                                       const side_tables& tables = {}) {
  auto p = compile(spec, tables);
  if (!p) {
    ADD_FAILURE() << p.error().message;
    return nullptr;
  }
  return *p;
}

inline std::string why_not(const policy_spec& spec, const side_tables& tables = {}) {
  auto p = compile(spec, tables);
  return p ? "" : p.error().message;
}

// A request that owns its fields.
struct request {
  std::string method = "GET";
  std::string path = "/";
  std::string query{};
  std::string host = "api.example.com";
  std::vector<std::pair<std::string, std::string>> fields{};
  std::string peer = "203.0.113.9";

  [[nodiscard]] request_view view() {
    views.clear();
    for (const auto& [name, value] : fields) views.push_back({name, value});
    return {method, path, query, host, views, address::parse(peer).value()};
  }

  std::vector<field> views{};
};

inline void make_plan(const compiled_policy& p, request& r, plan& out) {
  p.make_plan(r.view(), out);
}

// The keys of a request's charges, each behind its counter's id.
inline std::vector<std::string> charged(const compiled_policy& p, request r) {
  plan out;
  p.make_plan(r.view(), out);
  std::vector<std::string> all;
  for (const charge& c : out.charges) all.push_back(c.what->id + " " + std::string(c.key));
  return all;
}

// The only key of a request under a policy with one limit; "" when it has none.
inline std::string key_text(const compiled_policy& p, request r) {
  plan out;
  p.make_plan(r.view(), out);
  return out.charges.size() == 1 ? std::string(out.charges.front().key) : "";
}

inline verdict admitted(std::int64_t limit, std::int64_t remaining, duration reset = {},
                        duration next = {}) {
  return {.admitted = true,
          .limit = limit,
          .remaining = remaining,
          .reset_after = reset,
          .next_after = next};
}

inline verdict refused(std::int64_t limit, duration retry, duration reset) {
  return {.admitted = false,
          .limit = limit,
          .retry_after = retry,
          .reset_after = reset,
          .next_after = retry};
}

inline decision conclude(const compiled_policy& p, request r, std::vector<verdict> verdicts,
                         instant at = instant{std::chrono::seconds{1'700'000'000}},
                         std::uint64_t jitter = 0) {
  const request_view view = r.view();
  plan planned;
  p.make_plan(view, planned);
  decision out;
  p.conclude(view, planned, verdicts, {.decided_at = at, .jitter = jitter}, out);
  return out;
}

}  // namespace penstock::policy::test
