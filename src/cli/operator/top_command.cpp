#include "cli/operator/top_command.hpp"

#include <array>
#include <csignal>
#include <optional>

#include "cli/commands.hpp"
#include "cli/operator/output.hpp"
#include "cli/operator/plain_text.hpp"
#include "cli/operator/terminal.hpp"
#include "cli/operator/text_table.hpp"
#include "cli/operator/top_view.hpp"
#include "config/grammar/duration.hpp"

namespace penstock::cli {
namespace {

constexpr const char* rows_asked = "50";  // of top keys and of refusals
constexpr std::array<std::string_view, 3> windows = {"1m", "10m", "1h"};

struct answers {
  std::string status, limits, offenders, refusals, history;
};

result<answers> ask(const admin_client& admin, const std::string& by, const std::string& window,
                    bool history) {
  answers a;
  struct {
    std::string* into;
    const char* path;
    admin_client::parameters query;
  } const asked[] = {
      {&a.status, "status", {}},
      {&a.limits, "limits", {}},
      {&a.offenders, "offenders", {{"by", by}, {"window", window}, {"n", rows_asked}}},
      {&a.refusals, "refusals", {{"n", rows_asked}}},
      {&a.history, "history", {}}};
  for (const auto& one : asked) {
    if (one.into == &a.history && !history) continue;
    auto got = admin.get(one.path, one.query);
    if (!got) return got.error();
    *one.into = std::move(*got);
  }
  return a;
}

top_frame read_frame(const answers& a) {
  return {.status = read_answer(a.status),
          .limits = read_answer(a.limits),
          .offenders = read_answer(a.offenders),
          .refusals = read_answer(a.refusals),
          .history = a.history.empty() ? object{} : read_answer(a.history)};
}

int print_once(const admin_client& admin, const operator_flags& flags) {
  const auto a = ask(admin, flags.by, flags.window, true);
  if (!a) return say_failed(a.error());
  if (flags.json) {
    const std::string offenders = "{\"offenders\":" + merged({a->offenders}) + "}";
    return print(merged({a->status, a->limits, offenders, a->refusals}) + "\n");
  }
  return print(joined(top_lines(read_frame(*a), nullptr,
                                {.at = admin.name(), .by = flags.by, .window = flags.window})));
}

// The live picture: what was asked last, what it shows, and what keys change of it.
class live_top {
 public:
  live_top(admin_client admin, terminal& on, const operator_flags& flags)
      : admin_(std::move(admin)), on_(on), by_(flags.by), window_(flags.window) {}

  // What cannot be had now is said in the picture, and may be had the next time.
  void refresh() {
    auto a = ask(admin_, by_, window_, !now_);
    problem_ = a ? "" : a.error().message;
    if (!a) return;
    before_ = std::move(now_);
    now_ = read_frame(*a);
  }

  void draw() {
    const auto size = on_.measure();
    std::vector<std::string> lines;
    if (now_) {
      lines = top_lines(*now_, before_ ? &*before_ : nullptr,
                        {.rows = size.rows > 1 ? size.rows - 1 : 1,
                         .columns = size.columns,
                         .at = admin_.name(),
                         .by = by_,
                         .window = window_});
    }
    lines.resize(size.rows > 1 ? size.rows - 1 : 0);
    lines.push_back(cut(
        problem_.empty() ? "q quit   r by refusals or requests   w window" : "STALE: " + problem_,
        size.columns));
    on_.draw(lines);
  }

  // False: quit.
  bool press(char key) {
    if (key == 'q') return false;
    if (key == 'r') by_ = by_ == "refusals" ? "requests" : "refusals";
    if (key == 'w') {
      std::size_t at = 0;
      while (at < windows.size() && windows[at] != window_) ++at;
      window_ = windows[(at + 1) % windows.size()];
    }
    return true;
  }

 private:
  admin_client admin_;
  terminal& on_;
  std::string by_, window_;
  std::optional<top_frame> before_, now_;
  std::string problem_;
};

}  // namespace

int top_command(const admin_place& place, const operator_flags& flags) {
  const auto every = config::parse_duration(flags.every);
  if (!every || *every < std::chrono::milliseconds{100} || *every > std::chrono::hours{1}) {
    return say_failed({errc::invalid_argument, "--every: a time from 100ms to 1h, for example 2s"});
  }
  // Asked before the screen is taken, so that a wrong address or token stays readable.
  const admin_client first(place);
  if (flags.once || flags.json || !terminal::present()) return print_once(first, flags);
  if (const auto reached = first.get("status"); !reached) return say_failed(reached.error());

  terminal on;
  auto interruptible = place;
  interruptible.options.interrupt_fd = on.signals();
  live_top top(admin_client(interruptible), on, flags);
  const auto ms = static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(*every).count());
  for (;;) {
    top.refresh();
    top.draw();
    const auto e = on.wait(ms);
    if (e.what == terminal::happening::quit) break;
    if (e.what == terminal::happening::key && !top.press(e.key)) break;
  }
  // Ctrl-C is how one leaves it; other signals are failures at work.
  return on.ended_by() == 0 || on.ended_by() == SIGINT ? exit_fine : exit_failure;
}

}  // namespace penstock::cli
