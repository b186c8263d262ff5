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
#include <unistd.h>

#include <penstock/clock.hpp>

#include "cli/file_watch.hpp"
#include "cli/gateway_settings.hpp"
#include "cli/needs_restart.hpp"
#include "gateway/gateway.hpp"
#include "net/loop.hpp"
#include "service/ban_table.hpp"
#include "service/service.hpp"
#include "store/memory/memory_store.hpp"
#include "telemetry/metrics.hpp"

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
  parts(settings s, settings_source from) : now(std::move(s)), source(std::move(from)) {}

  settings now;
  settings_source source;
  file_watch watch;
  std::uint64_t generation = 1;
  steady_wall_clock clock;
  telemetry::metrics metrics{{random_seed(), random_seed()}};
  service::ban_table bans;
  std::unique_ptr<store::memory_store> memory;
  std::deque<net::loop> loops;
  std::deque<service::service> services;
  std::unique_ptr<gateway::gateway> gateway;
};

daemon::daemon(std::unique_ptr<parts> p) : parts_(std::move(p)) {}
daemon::~daemon() = default;

result<std::unique_ptr<daemon>> daemon::open(settings first, settings_source source) {
  const sigset_t signals = awaited_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  auto p = std::make_unique<parts>(std::move(first), std::move(source));
  const auto& c = p->now.value;

  if (c.store.url) {
    return error{
        errc::invalid_config,
        "store.url: this version keeps counters in memory only; remove store.url or --store"};
  }
  auto memory = store::memory_store::create(
      {.max_bytes = static_cast<std::size_t>(c.store.memory.max_bytes)});
  if (!memory) return memory.error();
  p->memory = std::move(*memory);

  const std::size_t workers = c.workers > 0 ? static_cast<std::size_t>(c.workers) : usable_cpus();
  std::vector<gateway::gateway::place> places;
  for (std::size_t i = 0; i < workers; ++i) {
    auto& loop = p->loops.emplace_back(p->clock);
    auto& service =
        p->services.emplace_back(*p->memory, p->now.policy,
                                 service::service_options{.local = p->memory.get(),
                                                          .fleet_size = c.policy.fleet_size,
                                                          .seed = random_seed(),
                                                          .bans = &p->bans,
                                                          .metrics = &p->metrics,
                                                          .counts = &p->metrics.add_loop(),
                                                          .clock = &p->clock});
    places.push_back({&loop, &service});
  }

  auto options = gateway_settings(c.gateway);
  if (!options) return options.error();
  auto gateway = gateway::gateway::open(*options, places);
  if (!gateway) return gateway.error();
  p->gateway = std::move(*gateway);
  p->watch.watch(p->source.files());
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
  const timespec look_interval{.tv_sec = 0, .tv_nsec = 250'000'000};
  bool draining = false;
  for (;;) {
    const int got = sigtimedwait(&signals, nullptr, &look_interval);
    if (got == SIGHUP || (got < 0 && p.watch.changed())) {
      if (!draining) reload();
      continue;
    }
    if (got < 0) continue;
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

bool daemon::reload() {
  auto& p = *parts_;
  auto next = p.source.load();
  p.watch.watch(p.source.files());
  if (!next) {
    std::fprintf(stderr, "penstock: reload refused; policy generation %llu stays in force\n",
                 static_cast<unsigned long long>(p.generation));
    return false;
  }
  for (const auto& name : needs_restart(p.now.value, next->value)) {
    std::fprintf(stderr, "penstock: %s has changed; a restart is needed for it\n", name.c_str());
  }
  // Only the policy changes: what was opened at the start stays as it is.
  p.now.policy = next->policy;
  p.now.value.policy = std::move(next->value.policy);
  ++p.generation;
  for (std::size_t i = 0; i < p.loops.size(); ++i) {
    p.loops[i].post([&service = p.services[i], policy = p.now.policy] { service.use(policy); });
  }
  std::fprintf(stderr, "penstock: policy generation %llu is in force\n",
               static_cast<unsigned long long>(p.generation));
  return true;
}

}  // namespace penstock::cli
