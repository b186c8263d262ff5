#include <chrono>
#include <cstdio>
#include <string>

#include <penstock/limiter.hpp>

int main() {
  auto made = penstock::limiter::create({.kind = penstock::algorithm::sliding_window_log,
                                         .count = 5,
                                         .period = std::chrono::minutes{1}});
  if (!made) return std::fprintf(stderr, "%s\n", made.error().message.c_str()), 2;
  penstock::limiter& logins = *made;
  penstock::steady_wall_clock clock;
  for (const std::string user : {"ada", "ada", "ada", "ada", "ada", "ada", "bob"}) {
    const penstock::verdict v = logins.check(user, clock.now());
    const auto wait = std::chrono::ceil<std::chrono::seconds>(v.retry_after).count();
    std::printf("%s: %s, %lld left, retry after %lld s\n", user.c_str(),
                v.admitted ? "passes" : "waits", static_cast<long long>(v.remaining),
                static_cast<long long>(wait));
  }
}
