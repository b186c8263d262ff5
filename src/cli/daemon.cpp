#include "cli/daemon.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <deque>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sched.h>

#include <penstock/clock.hpp>

#include "cli/gateway_settings.hpp"
#include "gateway/gateway.hpp"
#include "net/loop.hpp"
#include "policy/policy.hpp"
#include "service/service.hpp"
#include "store/memory/memory_store.hpp"

namespace penstock::cli {
namespace {

sigset_t awaited_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int one : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&set, one);
  return set;
}

// CPUs that this process may use, which in a container is less than what the machine has.
std::size_t usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<std::size_t>(std::max(1, CPU_COUNT(&set)));
}

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32U) | device();
}

}  // namespace

struct daemon::parts {
  explicit parts(config::config c) : settings(std::move(c)) {}

  config::config settings;
  steady_wall_clock clock;
  std::shared_ptr<const policy::compiled_policy> policy;
  std::unique_ptr<store::memory_store> memory;
  std::deque<net::loop> loops;
  std::deque<service::service> services;
  std::unique_ptr<gateway::gateway> gateway;
};

daemon::daemon(std::unique_ptr<parts> p) : parts_(std::move(p)) {}
daemon::~daemon() = default;

result<std::unique_ptr<daemon>> daemon::open(config::config settings) {
  const sigset_t signals = awaited_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  auto p = std::make_unique<parts>(std::move(settings));
  const auto& c = p->settings;

  if (c.store.url) {
    return error{
        errc::invalid_config,
        "store.url: this version keeps counters in memory only; remove store.url or --store"};
  }
  auto policy = policy::compile(c.policy);
  if (!policy) return policy.error();
  p->policy = std::move(*policy);

  auto memory = store::memory_store::create(
      {.max_bytes = static_cast<std::size_t>(c.store.memory.max_bytes)});
  if (!memory) return memory.error();
  p->memory = std::move(*memory);

  const std::size_t workers = c.workers > 0 ? static_cast<std::size_t>(c.workers) : usable_cpus();
  std::vector<gateway::gateway::place> places;
  for (std::size_t i = 0; i < workers; ++i) {
    auto& loop = p->loops.emplace_back(p->clock);
    auto& service = p->services.emplace_back(
        *p->memory, p->policy,
        service::service_options{
            .local = p->memory.get(), .fleet_size = c.policy.fleet_size, .seed = random_seed()});
    places.push_back({&loop, &service});
  }

  auto options = gateway_settings(c.gateway);
  if (!options) return options.error();
  auto gateway = gateway::gateway::open(*options, places);
  if (!gateway) return gateway.error();
  p->gateway = std::move(*gateway);
  return std::unique_ptr<daemon>(new daemon(std::move(p)));
}

void daemon::run() {
  auto& p = *parts_;
  std::vector<std::thread> threads;
  for (auto& loop : p.loops) threads.emplace_back([&loop] { loop.run(); });
  p.gateway->start();
  for (const auto& address : p.gateway->addresses()) {
    const bool unix_socket = address.starts_with("unix:");
    std::fprintf(stderr, "penstock: gateway listening on %s%s\n", unix_socket ? "" : "http://",
                 address.c_str());
  }

  const sigset_t signals = awaited_signals();
  bool draining = false;
  for (;;) {
    int got = 0;
    if (sigwait(&signals, &got) != 0) continue;
    if (got == SIGHUP) continue;
    if (draining) break;
    draining = true;
    std::fprintf(stderr, "penstock: finishing what is in flight; once more ends at once\n");
    // The end of the drain arrives as the signal that a second request to stop would send.
    p.gateway->drain([] { kill(getpid(), SIGTERM); });
  }
  p.gateway->stop();
  for (auto& loop : p.loops) loop.stop();
  for (auto& thread : threads) thread.join();
  std::fprintf(stderr, "penstock: stopped\n");
}

}  // namespace penstock::cli
