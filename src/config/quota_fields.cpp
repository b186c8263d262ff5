#include "config/quota_fields.hpp"

#include <array>

#include <fmt/format.h>

#include "config/suggest.hpp"

namespace penstock::config {
namespace {

constexpr std::array<std::string_view, 6> algorithm_names{
    "token_bucket",           "fixed_window", "sliding_window_log",
    "sliding_window_counter", "leaky_bucket", "leaky_bucket_meter"};
constexpr std::array algorithm_kinds{
    algorithm::token_bucket,           algorithm::fixed_window, algorithm::sliding_window_log,
    algorithm::sliding_window_counter, algorithm::leaky_bucket, algorithm::token_bucket};

bool is_window(algorithm a) {
  return a == algorithm::fixed_window || a == algorithm::sliding_window_log ||
         a == algorithm::sliding_window_counter;
}

// Fields that the algorithm does not have.
void check_applicable(const quota_fields& f, std::vector<field_problem>& out) {
  const auto refuse = [&](std::string_view field, std::string hint) {
    out.push_back(
        {field, 0, {fmt::format("{} has no {}", to_string(f.kind), field), std::move(hint), 0}});
  };
  const bool leaky = f.kind == algorithm::leaky_bucket;
  if (leaky && f.burst)
    refuse("burst", "a leaky_bucket holds requests back: did you mean \"queue\"?");
  if (f.burst_window && !is_window(f.kind))
    refuse("burst_window", "burst_window belongs to a window algorithm");
  if (f.burst_window && is_window(f.kind) && !f.burst) {
    out.push_back({"burst_window", 0, {"there is no burst for this window", "add burst: N", 0}});
  }
  if (!leaky && f.queue) refuse("queue", "queue belongs to algorithm: leaky_bucket");
  if (!leaky && f.undelayed) refuse("undelayed", "undelayed belongs to algorithm: leaky_bucket");
  if (!leaky && f.max_delay) refuse("max_delay", "max_delay belongs to algorithm: leaky_bucket");
  if (f.max_entries && f.kind != algorithm::sliding_window_log) {
    refuse("max_entries", "max_entries belongs to algorithm: sliding_window_log");
  }
  if (leaky && f.undelayed && f.undelayed > f.queue.value_or(0)) {
    out.push_back({"undelayed",
                   0,
                   {"more than the queue holds", fmt::format("0 to {}", f.queue.value_or(0)), 0}});
  }
}

}  // namespace

parsed<algorithm> parse_algorithm(std::string_view text) {
  for (std::size_t i = 0; i < algorithm_names.size(); ++i) {
    if (algorithm_names[i] == text) return algorithm_kinds[i];
  }
  return problem{fmt::format("unknown algorithm {}", quoted(text)), suggest(text, algorithm_names),
                 0};
}

std::vector<field_problem> to_quotas(const quota_fields& f, policy::rate_spec& out) {
  std::vector<field_problem> problems;
  check_applicable(f, problems);
  policy::rate_spec spec;
  for (std::size_t i = 0; i < f.rates.size(); ++i) {
    const auto& r = f.rates[i];
    if (r.unlimited) {
      if (f.rates.size() > 1) {
        problems.push_back({"rate", i, {"unlimited stands alone", "leave it out of the list", 0}});
      }
      spec.unlimited = true;
      continue;
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (f.rates[k].period == r.period && !f.rates[k].unlimited) {
        problems.push_back(
            {"rate", i, {"two rates with the same period", "keep the smaller one", 0}});
      }
    }
    quota q{.kind = f.kind, .count = r.count, .period = r.period};
    q.burst = f.burst;
    q.burst_window = f.burst_window;
    q.queue = f.queue.value_or(0);
    q.undelayed = f.undelayed.value_or(0);
    q.max_delay = f.max_delay;
    if (f.max_entries) q.max_entries = *f.max_entries;
    spec.quotas.push_back(q);
  }
  if (f.rates.size() > 1 && f.burst) {
    problems.push_back(
        {"burst", 0, {"one burst cannot belong to several rates", "write two limits", 0}});
  }
  if (f.rates.size() > 1 && f.kind == algorithm::leaky_bucket) {
    problems.push_back({"rate", 1, {"a leaky_bucket has one rate", "write two limits", 0}});
  }
  if (!problems.empty()) return problems;
  for (std::size_t i = 0; i < spec.quotas.size(); ++i) {
    if (const auto ok = validate(spec.quotas[i]); !ok) {
      problems.push_back({"rate", i, {ok.error().message, {}, 0}});
    }
  }
  if (problems.empty()) out = std::move(spec);
  return problems;
}

}  // namespace penstock::config
