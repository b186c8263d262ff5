// A small answer over loopback: the figure to compare is the server thread's CPU per request.
#include <string>
#include <thread>

#include <benchmark/benchmark.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/http_server.hpp"

namespace penstock::net {
namespace {

struct constant final : http_handler {
  void handle(http_exchange& x) override { x.answer(204, {}, {}); }
};

// range(0): requests in flight on the one connection.
void small_answers(benchmark::State& state) {
  steady_wall_clock clock;
  loop on(clock);
  constant handler;
  http_server server(on, handler);
  auto opened = open_listener({.host = "127.0.0.1", .port = 0, .unix_path = {}}, {});
  if (!opened) {
    state.SkipWithError("cannot listen");
    return;
  }
  const std::uint16_t port = opened->where.port;
  server.listen(std::move(opened->sockets));
  std::int64_t server_ns = 0;
  std::thread thread([&] {
    on.run();
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    server_ns = t.tv_sec * 1'000'000'000 + t.tv_nsec;
  });

  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
    state.SkipWithError("cannot connect");
  }
  std::string requests;
  for (int i = 0; i < state.range(0); ++i) {
    requests += "GET /v1/auth HTTP/1.1\r\nHost: localhost\r\nX-Original-URI: /a\r\n\r\n";
  }
  char block[65536];
  constexpr std::size_t answer_octets = 64;  // of one 204 with its Date
  for (auto _ : state) {
    std::size_t missing = answer_octets * static_cast<std::size_t>(state.range(0));
    if (::send(fd, requests.data(), requests.size(), MSG_NOSIGNAL) < 0) break;
    while (missing > 0) {
      const auto n = ::recv(fd, block, std::min(missing, sizeof block), 0);
      if (n <= 0) {
        state.SkipWithError("the server closed");
        missing = 0;
        break;
      }
      missing -= static_cast<std::size_t>(n);
    }
  }
  ::close(fd);
  on.post([&] {
    server.shut_down();
    server.when_idle([&] { on.stop(); });
  });
  thread.join();
  const auto requests_made = static_cast<double>(state.iterations() * state.range(0));
  state.counters["server_ns_per_request"] = static_cast<double>(server_ns) / requests_made;
}
BENCHMARK(small_answers)->Arg(1)->Arg(64)->UseRealTime();

}  // namespace
}  // namespace penstock::net
