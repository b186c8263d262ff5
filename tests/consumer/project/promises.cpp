// What the installed headers promise, tried from outside the tree. Exit code 0 when all of it
// holds.
#include <chrono>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <penstock/limiter.hpp>

namespace {

int failures = 0;

void expect(bool holds, const char* what) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "does not hold: %s\n", what);
}

// The example of limiter.hpp, as a server would have it.
int handle(penstock::limiter& logins, const std::string& user, penstock::instant now) {
  const penstock::verdict v = logins.check(user, now);
  if (!v.admitted) return 429;  // Retry-After: v.retry_after, rounded up to seconds
  return 200;
}

}  // namespace

int main() {
  using namespace std::chrono_literals;
  const penstock::quota q{.count = 3, .period = 3s};
  expect(penstock::validate(q).has_value(), "a plain quota is accepted");
  expect(!penstock::validate({.count = 1, .period = 0s}), "a quota without period is refused");
  expect(penstock::to_string(q.kind) == "token_bucket", "algorithms have names");

  auto made = penstock::limiter::create(q, {.max_bytes = 1U << 20U});
  expect(made.has_value(), "a limiter is made");
  if (!made) return 1;
  penstock::manual_clock clock(penstock::instant{1'800'000'000s});
  for (int i = 0; i < 3; ++i) expect(handle(*made, "ada", clock.now()) == 200, "three pass");
  expect(handle(*made, "ada", clock.now()) == 429, "the fourth waits");
  expect(handle(*made, "bob", clock.now()) == 200, "another key passes");
  const penstock::verdict refused = made->peek("ada", clock.now());
  expect(refused.retry_after == 1s, "the wait is exact");
  clock.advance(refused.retry_after);
  expect(handle(*made, "ada", clock.now()) == 200, "and true");

  penstock::limiter shared = *std::move(made);
  std::vector<std::thread> threads;
  std::vector<int> admitted(4);
  for (std::size_t t = 0; t < admitted.size(); ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 1'000; ++i) admitted[t] += handle(shared, "shared", clock.now()) == 200;
    });
  }
  for (std::thread& t : threads) t.join();
  expect(admitted[0] + admitted[1] + admitted[2] + admitted[3] == 3, "threads share one limit");
  shared.reset("shared");
  expect(handle(shared, "shared", clock.now()) == 200, "reset forgets");
  return failures == 0 ? 0 : 1;
}
