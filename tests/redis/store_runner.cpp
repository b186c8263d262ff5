#include "store_runner.hpp"

#include <stdexcept>
#include <unordered_set>

namespace penstock::redis_test {
namespace {

using clock = std::chrono::steady_clock;

// Batches that are done; the contract's callback has no room for more.
std::unordered_set<const store::batch*>& done_batches() {
  static std::unordered_set<const store::batch*> batches;
  return batches;
}

}  // namespace

counter make_counter(std::string id, const quota& q, bool count_denied) {
  return {.id = std::move(id), .quota = *quotas::compile(q), .count_denied = count_denied};
}

store_runner::store_runner(const std::string& url, std::chrono::milliseconds deadline,
                           bool decide_at_callers_time)
    : context_(1) {
  auto parsed = store::redis::parse_redis_url(url);
  if (!parsed) throw std::runtime_error(parsed.error().message);
  store::redis::redis_options options;
  options.url = *parsed;
  options.deadline = deadline;
  options.decide_at_callers_time = decide_at_callers_time;
  options.on_event = [this](const store::redis::store_event& e) {
    using kind = store::redis::store_event::kind;
    events_.push_back((e.what == kind::serving       ? "serving "
                       : e.what == kind::not_serving ? "not serving "
                                                     : "remark ") +
                      e.node + " " + e.text);
  };
  auto made = store::redis::redis_store::make(context_, std::move(options));
  if (!made) throw std::runtime_error(made.error().message);
  store_ = std::move(*made);
}

bool store_runner::run_until(const std::function<bool()>& done,
                             std::chrono::milliseconds patience) {
  const auto end = clock::now() + patience;
  while (!done()) {
    if (clock::now() >= end) return false;
    context_.restart();
    context_.run_one_for(std::chrono::milliseconds{20});
  }
  return true;
}

void store_runner::run_for(std::chrono::milliseconds time) {
  run_until([] { return false; }, time);
}

void store_runner::wait(store::batch& b) {
  b.on_done = [](store::batch& of) { done_batches().insert(&of); };
  if (!run_until([&] { return done_batches().contains(&b); })) {
    throw std::runtime_error("a batch was never answered");
  }
  done_batches().erase(&b);
}

store_runner::answer store_runner::take(const counter& what, std::string_view key,
                                        std::int64_t cost) {
  const charge one{.what = &what, .key = key, .cost = cost};
  answer a;
  store::batch b{.charges = {&one, 1}, .verdicts = {&a.result, 1}};
  const auto begin = clock::now();
  a.at_once = store_->check(b, instant{}) == store::progress::done;
  if (!a.at_once) wait(b);
  a.took = std::chrono::duration_cast<std::chrono::microseconds>(clock::now() - begin);
  a.failed = b.failed;
  return a;
}

}  // namespace penstock::redis_test
