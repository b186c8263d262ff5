// The queue against nginx's limit_req, whose behaviour users bring with them: burst = queue, delay
// = undelayed, nodelay = undelayed everything. Rows as nginx 1.22.1 answers them (live, statuses
// equal). nginx counts in whole milliseconds and thousandths of a request, we exactly: its delays
// may differ by the 2 ms that it loses between requests.
#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "quota/testdata/subject.hpp"

namespace penstock::quotas::testdata {
namespace {

using namespace std::chrono_literals;

constexpr instant start{duration{1'767'225'600'000'000}};

enum class answer { passed, delayed, rejected };

struct step {
  std::int64_t at_ms;
  std::vector<std::string> keys;  // one per limit; empty: this limit does not apply
  answer want;
  std::int64_t delay_ms;
};

struct nginx_case {
  std::string name;
  std::vector<quota> limits;
  std::vector<step> steps;
};

quota limit_req(std::int64_t count, duration period, std::int64_t burst, std::int64_t delay) {
  return {.kind = algorithm::leaky_bucket,
          .count = count,
          .period = period,
          .queue = burst,
          .undelayed = delay};
}

std::vector<nginx_case> cases() {
  using enum answer;
  return {
      {"2r/s burst=1 nodelay: a refusal does not postpone the next success",
       {limit_req(2, 1s, 1, 1)},
       {{0, {"k"}, passed, 0},
        {1, {"k"}, passed, 0},
        {2, {"k"}, rejected, 0},
        {3, {"k"}, rejected, 0},
        {503, {"k"}, passed, 0},
        {504, {"k"}, rejected, 0},
        {1503, {"k"}, passed, 0},
        {1504, {"k"}, passed, 0},
        {1505, {"k"}, rejected, 0}}},
      {"10r/s without burst: strict spacing",
       {limit_req(10, 1s, 0, 0)},
       {{0, {"k"}, passed, 0},
        {50, {"k"}, rejected, 0},
        {99, {"k"}, rejected, 0},
        {100, {"k"}, passed, 0},
        {199, {"k"}, rejected, 0},
        {200, {"k"}, passed, 0},
        {250, {"k"}, rejected, 0},
        {300, {"k"}, passed, 0},
        {1000, {"k"}, passed, 0}}},
      {"10r/s burst=5: one in service, five wait",
       {limit_req(10, 1s, 5, 0)},
       {{0, {"k"}, passed, 0},
        {0, {"k"}, delayed, 100},
        {0, {"k"}, delayed, 200},
        {0, {"k"}, delayed, 300},
        {0, {"k"}, delayed, 400},
        {0, {"k"}, delayed, 500},
        {0, {"k"}, rejected, 0},
        {0, {"k"}, rejected, 0},
        {100, {"k"}, delayed, 500},
        {350, {"k"}, delayed, 350},
        {10000, {"k"}, passed, 0}}},
      {"30r/m burst=2 delay=1: the first waiting request passes at once",
       {limit_req(30, 1min, 2, 1)},
       {{0, {"k"}, passed, 0},
        {1, {"k"}, passed, 0},
        {2, {"k"}, delayed, 2000},
        {3, {"k"}, rejected, 0},
        {2002, {"k"}, delayed, 2000},
        {4002, {"k"}, delayed, 2000}}},
      {"1000r/s and 1r/m with different keys: an absent key skips its limit",
       {limit_req(1000, 1s, 0, 0), limit_req(1, 1min, 0, 0)},
       {{0, {"b1", ""}, passed, 0},
        {100, {"b1", ""}, passed, 0},
        {200, {"", "a1"}, passed, 0},
        {300, {"", "a1"}, rejected, 0},
        {400, {"b2", "a2"}, passed, 0},
        {500, {"b2", "a2"}, rejected, 0},
        {600, {"", ""}, passed, 0}}},
      {"1r/s burst=1 and 1r/s: a refusal by one charges neither",
       {limit_req(1, 1s, 1, 0), limit_req(1, 1s, 0, 0)},
       {{0, {"ip", "s"}, passed, 0},
        {10, {"ip", "s"}, rejected, 0},
        {20, {"ip", "s"}, rejected, 0},
        {1000, {"ip", "s"}, passed, 0},
        {1010, {"ip", "s"}, rejected, 0},
        {2000, {"ip", "s"}, passed, 0}}},
      {"2r/s burst=5 and 10r/s burst=20: the larger delay counts",
       {limit_req(2, 1s, 5, 0), limit_req(10, 1s, 20, 0)},
       {{0, {"ip", "s"}, passed, 0},
        {0, {"ip", "s"}, delayed, 500},
        {0, {"ip", "s"}, delayed, 1000},
        {0, {"ip", "s"}, delayed, 1500}}},
  };
}

// Who moves a limit_req policy over gets the same requests through, delayed as before.
TEST(Queue, AnswersAsLimitReqDoes) {
  for (const nginx_case& c : cases()) {
    std::map<std::pair<std::size_t, std::string>, subject> zones;
    for (const step& s : c.steps) {
      SCOPED_TRACE(c.name + " at " + std::to_string(s.at_ms));
      const instant now = start + std::chrono::milliseconds{s.at_ms};
      std::vector<subject*> asked;
      for (std::size_t i = 0; i < c.limits.size(); ++i) {
        if (s.keys[i].empty()) continue;
        asked.push_back(&zones.try_emplace({i, s.keys[i]}, subject{c.limits[i]}).first->second);
      }
      bool admitted = true;
      for (const subject* z : asked) admitted = admitted && z->peek(now, 1).admitted;
      duration delay{0};
      if (admitted) {
        for (subject* z : asked) delay = std::max(delay, z->take(now, 1).delay);
      }
      EXPECT_EQ(admitted, s.want != answer::rejected);
      if (admitted) {
        EXPECT_EQ(delay.count() > 0, s.want == answer::delayed);
        EXPECT_NEAR(static_cast<double>(delay.count()), static_cast<double>(s.delay_ms) * 1e3, 2e3);
      }
    }
  }
}

}  // namespace
}  // namespace penstock::quotas::testdata
