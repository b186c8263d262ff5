#include "cli/operator/top_view.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "cli/operator/plain_text.hpp"
#include "cli/operator/text_table.hpp"

namespace penstock::cli {
namespace {

std::string status_at(int seconds, int allowed, int refused, int started = 1000) {
  return R"({"version":"1.2","now_ms":)" + std::to_string(10'000 + seconds * 1000) +
         R"(,"started_at_ms":)" + std::to_string(started) +
         R"(,"workers":2,"ready":true,"reasons":[],"policy":{"file":"p.yaml","generation":3,)"
         R"("loaded_at_ms":1000},"store":{"kind":"memory","up":true},"requests":{"allowed":)" +
         std::to_string(allowed) + R"(,"refused":)" + std::to_string(refused) +
         R"(},"check":{"p50_ns":10000,"p99_ns":50000}})";
}

std::string limits(int refused_a, int refused_b) {
  const auto one = [](const char* name, int refused) {
    return std::string(R"({"name":")") + name +
           R"(","key":"address","path":"*","quota":"5/min","mode":"enforce","admitted":10,)" +
           R"("refused":)" + std::to_string(refused) + R"(,"shadow_refused":0,"override":null})";
  };
  return R"({"limits":[)" + one("a", refused_a) + "," + one("b", refused_b) + "]}";
}

top_frame frame(const std::string& status, const std::string& limits_now) {
  top_frame f;
  f.status = read_answer(status);
  f.limits = read_answer(limits_now);
  f.offenders = read_answer(R"({"top":[{"limit":"a","key":"user:1","at_least":7,"at_most":7},)"
                            R"({"limit":"a","key":"user:\u001b[2J","at_least":3,"at_most":5}]})");
  f.refusals = read_answer(
      R"({"refusals":[{"at_ms":1000,"limit":"a","key":"user:1","client":"192.0.2.1","method":"GET",)"
      R"("path":"/\u009b","status":429,"retry_after_ms":900,"reason":"over the limit"}]})");
  return f;
}

bool has(const std::vector<std::string>& lines, std::string_view text) {
  return std::ranges::any_of(lines,
                             [text](const auto& l) { return l.find(text) != std::string::npos; });
}

// Everything that an operator asks first is in one picture, and hostile names are only text in it.
TEST(TopView, ShowsWhatHappens) {
  const auto lines = top_lines(frame(status_at(0, 5, 2), limits(2, 0)), nullptr, {.at = "here:1"});
  const std::string all = joined(lines);
  for (const char* const want :
       {"penstock 1.2 at here:1, up 9 s, 2 workers", "state      ready", "p.yaml, generation 3",
        "requests   not measured yet", "TOP KEYS BY refusals, 1m", "3 to 5", "user:\\x1b[2J",
        "00:00:01Z", "GET /\\u{9b}", "900 ms"}) {
    EXPECT_NE(all.find(want), std::string::npos) << want << " in\n" << all;
  }
  EXPECT_EQ(all.find('\x1b'), std::string::npos);
}

// With a shared store the list is the fleet's, and a reader has to know whose figures these are.
TEST(TopView, SaysHowManyInstancesTheTopKeysAreOf) {
  auto f = frame(status_at(0, 5, 2), limits(2, 0));
  f.offenders = read_answer(R"({"instances":1,"whole":true,"top":[]})");
  EXPECT_FALSE(has(top_lines(f, nullptr, {}), "instances"));
  EXPECT_FALSE(has(top_lines(f, nullptr, {}), "not heard"));
  f.offenders = read_answer(R"({"instances":3,"whole":false,"top":[]})");
  EXPECT_TRUE(has(top_lines(f, nullptr, {}), "1m, 3 instances, others not heard"));
}

// Rates are of the time between two looks, and the limit that refuses most now comes first.
TEST(TopView, RatesAreBetweenTwoLooks) {
  const auto before = frame(status_at(0, 100, 10), limits(500, 0));
  const auto lines =
      top_lines(frame(status_at(2, 120, 11), limits(501, 30)), &before, {.at = "here"});
  EXPECT_TRUE(has(lines, "allowed 10/s, refused 0.5/s  (last 2 s)")) << joined(lines);
  const auto row = [&](std::string_view start) {
    return std::ranges::find_if(lines, [start](const auto& l) { return l.starts_with(start); });
  };
  EXPECT_LT(row("b "), row("a "));
  EXPECT_NE(row("b ")->find("15/s"), std::string::npos) << *row("b ");
}

// A daemon that was started anew counts from 0: no rate is made of the difference.
TEST(TopView, ARestartIsNoNegativeRate) {
  const auto before = frame(status_at(0, 100, 10), limits(500, 0));
  const auto lines =
      top_lines(frame(status_at(2, 1, 0, 11'000), limits(1, 0)), &before, {.at = "here"});
  EXPECT_TRUE(has(lines, "not measured yet")) << joined(lines);
  EXPECT_FALSE(has(lines, "-4")) << joined(lines);
}

// The first look has no other to compare with: the daemon's history stands in.
TEST(TopView, TheFirstLookTakesTheHistory) {
  auto f = frame(status_at(0, 5, 2), limits(2, 0));
  f.history = read_answer(R"({"samples":[{"length_ms":5000,"allowed":1},)"
                          R"({"length_ms":5000,"allowed":50,"refused":5}]})");
  EXPECT_TRUE(has(top_lines(f, nullptr, {}), "allowed 10/s, refused 1/s  (last 5 s)"));
}

// Whatever the size of the window, nothing wraps and nothing scrolls.
TEST(TopView, FitsEveryScreen) {
  const auto f = frame(status_at(0, 5, 2), limits(2, 0));
  for (std::size_t rows = 1; rows < 40; ++rows) {
    for (const std::size_t columns : {1U, 5U, 20U, 40U, 80U, 200U}) {
      const auto lines = top_lines(f, nullptr, {.rows = rows, .columns = columns, .at = "here"});
      EXPECT_LE(lines.size(), rows);
      for (const auto& line : lines) EXPECT_LE(columns_of(line), columns) << line;
    }
  }
}

// A daemon of another version, or an answer without anything in it, is no reason to fall over.
TEST(TopView, EmptyAnswersAreShownAsSuch) {
  EXPECT_FALSE(top_lines({}, nullptr, {.rows = 24, .columns = 80}).empty());
}

}  // namespace
}  // namespace penstock::cli
