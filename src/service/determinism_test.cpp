// Overlapping limits decide alike whatever the order in which they are written and stored: the same
// trace on many starts, each with its own order of limits and its own secret of the hash table.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "service/service.hpp"
#include "store/memory/memory_store.hpp"

namespace penstock::service {
namespace {

using namespace std::chrono_literals;
using policy::key_kind;

constexpr instant noon{1'700'000'000s};

policy::limit_spec limit(std::string name, key_kind key, algorithm kind, std::int64_t count,
                         duration period, std::string path = {}) {
  policy::limit_spec l;
  l.name = std::move(name);
  l.key = {.alternatives = {{{.kind = key, .name = key == key_kind::header ? "t" : ""}}},
           .text = "k"};
  l.rate.quotas = {{.kind = kind, .count = count, .period = period}};
  l.match.path = std::move(path);
  return l;
}

// Every algorithm, and limits that overlap by path, key and window so that each decides somewhere.
std::vector<policy::limit_spec> overlapping() {
  auto queue = limit("queue", key_kind::global, algorithm::leaky_bucket, 5, 1s, "/api/**");
  queue.rate.quotas[0].queue = 6;
  auto login = limit("login", key_kind::address, algorithm::sliding_window_log, 3, 10s, "/login");
  login.count_denied = true;
  auto windows = limit("windows", key_kind::address, algorithm::fixed_window, 4, 1s);
  windows.rate.quotas.push_back(
      {.kind = algorithm::sliding_window_log, .count = 30, .period = 20s});
  auto shadow = limit("shadow", key_kind::header, algorithm::token_bucket, 2, 1s);
  shadow.mode = policy::limit_mode::shadow;
  return {limit("all", key_kind::global, algorithm::fixed_window, 9, 1s),
          limit("tree", key_kind::address, algorithm::token_bucket, 20, 10s, "/api/**"),
          limit("leaf", key_kind::header, algorithm::sliding_window_counter, 5, 3s, "/api/{id}/x"),
          limit("route", key_kind::route, algorithm::sliding_window_log, 6, 5s),
          std::move(queue),
          std::move(login),
          std::move(windows),
          std::move(shadow)};
}

// What a client and the file's owner see of a decision. Ties between limits go by file order, so
// the reported limit is left out; waits, delays and who refuses in shadow are not.
std::string told(const exchange_context& x) {
  const auto& d = x.decision;
  std::string text = std::to_string(static_cast<int>(d.what)) + " " + std::to_string(d.status) +
                     " " + std::to_string(d.delay.count()) + (d.shadow_refused ? " s" : "");
  const auto at = d.headers.find("Retry-After: ");
  if (at != std::string::npos) text += " " + d.headers.substr(at, d.headers.find('\r', at) - at);
  return text;
}

// The same requests at the same times, whatever the start.
std::vector<std::string> play(std::vector<policy::limit_spec> limits, hash128 secret) {
  policy::policy_spec spec;
  spec.limits = std::move(limits);
  const auto memory = store::memory_store::create({.max_bytes = 1 << 20, .secret = secret});
  service decides(**memory, policy::compile(spec).value());
  std::mt19937_64 random(20261130);
  const std::vector<std::string> paths = {"/",        "/login",   "/api/1/x",
                                          "/api/2/x", "/api/1/y", "/login/"};
  const std::vector<std::string> tenants = {"a", "b", "c"};
  std::vector<std::string> decisions;
  exchange_context x;
  instant now = noon;
  for (int i = 0; i < 80; ++i) {
    now += duration(random() % 200'000);
    const std::vector<field> fields = {{"t", tenants[random() % tenants.size()]}};
    x.request = {.method = "GET",
                 .path = paths[random() % paths.size()],
                 .fields = fields,
                 .peer = policy::address::v4({192, 0, 2, static_cast<std::uint8_t>(random() % 3)})};
    EXPECT_EQ(decides.decide(x, now), answer::ready);
    decisions.push_back(told(x));
  }
  return decisions;
}

// An operator who sorts the file, or restarts, must not change who is refused.
TEST(Determinism, OverlappingLimitsDecideAlikeOverAThousandStarts) {
  const char* const scale = std::getenv("PENSTOCK_SCALE");
  const int starts = 1000 * (scale != nullptr ? std::max(1, std::atoi(scale)) : 1);
  auto limits = overlapping();
  const auto want = play(limits, {1, 2});
  const auto count = [&](char first) {
    return std::ranges::count_if(want, [&](const std::string& t) { return t[0] == first; });
  };
  // The trace is worth playing: all of allow, delay and deny happen often.
  EXPECT_GT(count('0'), 15);
  EXPECT_GT(count('1'), 3);
  EXPECT_GT(count('2'), 15);

  std::mt19937_64 random(7);
  for (int start = 0; start < starts; ++start) {
    std::ranges::shuffle(limits, random);
    const auto got = play(limits, {random(), random()});
    ASSERT_EQ(got, want) << "start " << start;
  }
}

}  // namespace
}  // namespace penstock::service
