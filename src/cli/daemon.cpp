#include "cli/daemon.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <sched.h>
#include <unistd.h>

#include <penstock/clock.hpp>

#include "admin/host.hpp"
#include "base/sha256.hpp"
#include "cli/decision_settings.hpp"
#include "cli/descriptors.hpp"
#include "cli/file_watch.hpp"
#include "cli/gateway_settings.hpp"
#include "cli/inheritance.hpp"
#include "cli/live_policy.hpp"
#include "cli/main_tasks.hpp"
#include "cli/operations.hpp"
#include "cli/process_metrics.hpp"
#include "cli/service_manager.hpp"
#include "cli/stores.hpp"
#include "cli/successor.hpp"
#include "cli/traffic_watch.hpp"
#include "decision/server.hpp"
#include "gateway/gateway.hpp"
#include "net/loop.hpp"
#include "service/ban_table.hpp"
#include "service/service.hpp"
#include "telemetry/metrics.hpp"

namespace penstock::cli {
namespace {

// SIGUSR1 announces main_tasks, SIGUSR2 asks for a successor.
sigset_t awaited_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int one : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&set, one);
  return set;
}

// CPUs that this process may use, which in a container is less than what the machine has.
std::size_t usable_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return static_cast<std::size_t>(std::max(1, CPU_COUNT(&set)));
}

net::endpoint endpoint_of(const config::listen_address& a) {
  return {.host = a.host, .port = a.port, .unix_path = a.unix_path};
}

void say_listening(const admin::listener_info& l, const config::config& c) {
  const bool tls =
      (l.face == "gateway" && c.gateway.tls) || (l.face == "decision" && c.decision.tls);
  const char* scheme = tls ? "https://" : "http://";
  std::fprintf(stderr, "penstock: %s listening on %s%s\n", l.face.c_str(),
               l.address.starts_with("unix:") ? "" : scheme, l.address.c_str());
}

}  // namespace

// How long a successor waits for its store before it serves without.
constexpr duration store_wait = std::chrono::seconds{5};
// A successor that dies while this process still drains is replaced so often.
constexpr int replacements_max = 3;

// In the order in which things need each other: what is destroyed first stands last.
struct daemon::parts {
  parts(settings first, settings_source source)
      : policy(std::move(first), std::move(source), clock.now(), metrics) {}

  steady_wall_clock clock;
  telemetry::metrics metrics{random_secret()};
  service::ban_table bans;
  live_policy policy;
  file_watch watch;
  main_tasks tasks;
  std::atomic<bool> draining{false};

  net::listener_source listeners;
  ready_pipe predecessor;
  successor next;
  bool asked_to_stop = false;  // by a signal
  bool handed_over = false;    // to a successor: ready as a service, whatever this process does
  int replacements_left = replacements_max;
  int faces_draining = 0;
  bool stop = false;

  [[nodiscard]] bool ending() const noexcept { return draining || handed_over; }
  void tell(bool good, const std::string& text);
  void await_store();
  void drain(net::idle_clients idle);
  void stop_asked();
  void hand_over_asked();
  void start_successor();
  void look_at_successor();
  std::deque<net::loop> loops;
  std::unique_ptr<stores> counters;
  std::optional<traffic_watch> traffic;
  std::deque<service::service> services;
  std::unique_ptr<process_operations> operations;
  std::unique_ptr<gateway::gateway> gateway;
  std::unique_ptr<decision::server> decision;
  std::unique_ptr<admin::host> host;
};

// To the log and to the events that the admin API shows.
void daemon::parts::tell(bool good, const std::string& text) {
  std::fprintf(stderr, "penstock: %s\n", text.c_str());
  metrics.events().add(
      {.at = clock.now(), .kind = telemetry::event_kind::lifecycle, .good = good, .text = text});
}

// The predecessor serves meanwhile with a store that answers; its clients should not notice that
// this process has yet to connect.
void daemon::parts::await_store() {
  const instant give_up = clock.now() + store_wait;
  while (!counters->up() && clock.now() < give_up) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
}

void daemon::parts::drain(net::idle_clients idle) {
  faces_draining = (gateway ? 1 : 0) + (decision ? 1 : 0);
  const auto drained = [this] { tasks.post([this] { stop = --faces_draining == 0; }); };
  if (gateway) gateway->drain(idle, drained);
  if (decision) decision->drain(idle, drained);
}

void daemon::parts::stop_asked() {
  if (std::exchange(asked_to_stop, true)) {
    stop = true;
    return;
  }
  tell_service_manager(std::getenv("NOTIFY_SOCKET"), "STOPPING=1");
  std::fprintf(stderr, "penstock: finishing what is in flight; once more ends at once\n");
  // One that has not said that it serves was started to follow this process, and this one is to
  // end.
  if (next.at() == successor::stage::starting) next.stop();
  if (handed_over) return;
  // Nobody follows: who connects from now on should be told so by the system.
  listeners.close_kept();
  draining = true;
  drain(net::idle_clients::close_soon);
}

void daemon::parts::hand_over_asked() {
  if (ending() || next.at() != successor::stage::none) {
    std::fprintf(stderr, "penstock: a restart or an end is under way; the signal is ignored\n");
  } else if (getpid() == 1) {
    tell(false,
         "this is process 1, whose end is the end of its container; start another container");
  } else {
    start_successor();
  }
}

void daemon::parts::start_successor() {
  if (const auto failed = next.start(listeners.kept())) {
    tell(false, "no successor could be started; this process goes on: " + failed->message);
    return;
  }
  std::fprintf(stderr, "penstock: process %d was started to take over from %d\n", next.pid(),
               getpid());
}

void daemon::parts::look_at_successor() {
  const int pid = next.pid();
  const std::string who = "process " + std::to_string(pid);
  switch (next.look()) {
    case successor::news::nothing:
      return;
    case successor::news::serves:
      tell_service_manager(std::getenv("NOTIFY_SOCKET"), "MAINPID=" + std::to_string(pid));
      tell(true,
           who + " serves; process " + std::to_string(getpid()) + " finishes what is in flight");
      if (ending()) return;
      handed_over = true;
      host->hand_over();
      drain(net::idle_clients::answer_once_more);
      return;
    case successor::news::failed:
      tell(false, who + " ended before it served (" + next.ending() + ")" +
                      (ending() ? "" : "; this process goes on"));
      break;
    case successor::news::died:
      tell(false, who + " ended (" + next.ending() + ")");
      break;
  }
  // Clients wait in the queues of the sockets that this process still holds.
  if (handed_over && !asked_to_stop && replacements_left-- > 0) start_successor();
}

daemon::daemon(std::unique_ptr<parts> p) : parts_(std::move(p)) {}
daemon::~daemon() = default;

result<std::unique_ptr<daemon>> daemon::open(settings first, settings_source source,
                                             std::string policy_file) {
  const sigset_t signals = awaited_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  std::signal(SIGPIPE, SIG_IGN);

  auto p = std::make_unique<parts>(std::move(first), std::move(source));
  auto left = take_inheritance(
      [](const char* name) {
        const char* const value = std::getenv(name);
        return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
      },
      getpid());
  p->listeners = net::listener_source(std::move(left.sockets));
  p->predecessor = std::move(left.ready);
  const auto& c = p->policy.config();
  if (c.gateway.upstreams.empty() && !c.decision.http) {
    return error{errc::invalid_config,
                 "nothing to serve: name the API to protect with --upstream http://HOST:PORT or "
                 "gateway.upstream in the file, or open a decision listener with --decision-http"};
  }

  const auto shares = share_descriptors(raise_descriptor_limit(), c.decision.http.has_value());
  const std::size_t workers = c.workers > 0 ? static_cast<std::size_t>(c.workers) : usable_cpus();
  std::vector<net::loop*> loops;
  for (std::size_t i = 0; i < workers; ++i) loops.push_back(&p->loops.emplace_back(p->clock));

  auto counters = stores::open(
      c.store, loops,
      [events = &p->metrics.events(), clock = &p->clock](bool up, const auto& text) {
        std::fprintf(stderr, "penstock: store %s: %s\n", up ? "answers" : "does not answer",
                     text.c_str());
        events->add({.at = clock->now(),
                     .kind = telemetry::event_kind::store,
                     .good = up,
                     .text = (up ? "store answers: " : "store does not answer: ") + text});
      });
  if (!counters) return counters.error();
  p->counters = std::move(*counters);
  p->traffic.emplace(p->metrics, *p->counters, p->clock.now());

  const auto policy = p->policy.snapshot().policy;
  std::vector<gateway::gateway::place> places;
  std::vector<decision::server::place> decision_places;
  for (std::size_t i = 0; i < workers; ++i) {
    auto& service = p->services.emplace_back(
        p->counters->of_loop(i), policy,
        service::service_options{.local = &p->counters->memory(),
                                 .fleet_size = c.policy.fleet_size,
                                 .seed = random_secret().lo,
                                 .bans = &p->bans,
                                 .metrics = &p->metrics,
                                 .counts = &p->metrics.add_loop(),
                                 .clock = &p->clock,
                                 .refusals = p->counters->refusals_of_loop(i)});
    places.push_back({loops[i], &service});
    decision_places.push_back({loops[i], &service});
  }
  p->policy.serve(p->loops, p->services);

  if (!c.gateway.upstreams.empty()) {
    auto options = gateway_settings(c.gateway, c.policy.client);
    if (!options) return options.error();
    options->listeners = &p->listeners;
    options->connections_max = shares.gateway_clients;
    auto gateway = gateway::gateway::open(*options, places);
    if (!gateway) return gateway.error();
    p->gateway = std::move(*gateway);
  }
  if (c.decision.http) {
    auto options = decision_settings(c.decision, p->metrics);
    options.listeners = &p->listeners;
    options.connections_max =
        std::clamp<std::size_t>(shares.decision_clients / workers, 1, options.connections_max);
    auto decision = decision::server::open(options, decision_places);
    if (!decision) return decision.error();
    p->decision = std::move(*decision);
  }

  p->operations = std::make_unique<process_operations>(
      operated{.serving = p->loops.front(),
               .counters = p->counters->of_loop(0),
               .all_stores = *p->counters,
               .policy = p->policy,
               .bans = p->bans,
               .clock = p->clock,
               .draining = p->draining,
               .on_main = [tasks = &p->tasks](auto work) { tasks->post(std::move(work)); },
               .fixed = {.version = PENSTOCK_VERSION,
                         .started_at = p->clock.now(),
                         .workers = workers,
                         .policy_file = std::move(policy_file),
                         .store = p->counters->description()}});
  admin::host_options control;
  control.listeners = &p->listeners;
  if (c.admin.listen) control.admin = endpoint_of(*c.admin.listen);
  if (c.health.listen) control.health = endpoint_of(*c.health.listen);
  if (!c.admin.token_sha256.empty()) control.who.token = parse_sha256(c.admin.token_sha256);
  if (!c.admin.token.empty()) control.who.token = sha256(c.admin.token);
  auto host =
      admin::host::open(control, *p->operations, p->metrics, p->clock, [](std::string_view line) {
        std::fprintf(stderr, "penstock: audit %.*s\n", static_cast<int>(line.size()), line.data());
      });
  if (!host) return host.error();
  p->host = std::move(*host);

  if (const auto unclaimed = p->listeners.close_unclaimed(); unclaimed > 0) {
    std::fprintf(stderr,
                 "penstock: %zu inherited sockets are on no configured address and were closed\n",
                 unclaimed);
  }

  std::vector<admin::listener_info> listeners;
  for (const auto& a : p->gateway ? p->gateway->addresses() : std::vector<std::string>{}) {
    listeners.push_back({"gateway", a});
  }
  for (const auto& a : p->decision ? p->decision->addresses() : std::vector<std::string>{}) {
    listeners.push_back({"decision", a});
  }
  listeners.insert(listeners.end(), p->host->listeners().begin(), p->host->listeners().end());
  p->operations->begin(std::move(listeners), p->host->loop());

  add_table_metrics(p->metrics, c, *p->counters);
  if (p->gateway) add_gateway_metrics(p->metrics, *p->gateway);
  p->watch.watch(p->policy.files());
  return std::unique_ptr<daemon>(new daemon(std::move(p)));
}

void daemon::run() {
  auto& p = *parts_;
  std::vector<std::thread> threads;
  for (auto& loop : p.loops) threads.emplace_back([&loop] { loop.run(); });
  if (p.predecessor.awaited()) p.await_store();
  if (p.gateway) p.gateway->start();
  if (p.decision) p.decision->start();
  p.host->start();
  for (const auto& l : p.operations->status().listeners) {
    say_listening(l, p.policy.config());
  }
  if (p.counters->remote()) {
    std::fprintf(stderr, "penstock: counters in %s\n", p.counters->description().c_str());
  }

  const sigset_t signals = awaited_signals();
  const timespec look_interval{.tv_sec = 0, .tv_nsec = 250'000'000};
  const auto reload = [&p] {
    p.watch.begin_reading();
    p.policy.reload(p.clock.now());
    p.watch.watch(p.policy.files());
    const auto& c = p.policy.config();
    const auto keeps_certificates = [](const std::optional<error>& failed) {
      if (!failed) return;
      std::fprintf(stderr, "penstock: the old certificates stay in use: %s\n",
                   failed->message.c_str());
    };
    if (p.decision) {
      keeps_certificates(p.decision->reload_certificates(decision_tls(c.decision)));
    }
    if (!p.gateway) return;
    if (const auto options = gateway_settings(c.gateway, c.policy.client)) {
      p.gateway->change(*options);
    } else {
      std::fprintf(stderr, "penstock: %s\n", options.error().message.c_str());
    }
    p.gateway->reopen_logs();
    keeps_certificates(p.gateway->reload_certificates());
  };
  if (p.predecessor.awaited()) {
    p.predecessor.say();
  } else {
    tell_service_manager(std::getenv("NOTIFY_SOCKET"), "READY=1");
  }
  // Does not leave while a successor that should follow is starting: this process holds its place.
  while (!p.stop || (!p.asked_to_stop && p.next.at() == successor::stage::starting)) {
    const int got = sigtimedwait(&signals, nullptr, &look_interval);
    if (got == SIGUSR1) {
      p.tasks.run();
    } else if (got == SIGHUP) {
      reload();
    } else if (got == SIGTERM || got == SIGINT) {
      p.stop_asked();
    } else if (got == SIGUSR2) {
      p.hand_over_asked();
    } else if (!p.ending() && p.watch.changed()) {
      reload();
    }
    p.look_at_successor();
    p.policy.expire_overrides(p.clock.now());
    p.traffic->look(p.clock.now());
    p.counters->look_at_memory(p.clock.now());
  }

  // Last to answer, first to go: what it asks must still be there.
  p.host->stop();
  if (p.gateway) p.gateway->stop();
  if (p.decision) p.decision->stop();
  for (auto& loop : p.loops) loop.stop();
  for (auto& thread : threads) thread.join();
  std::fprintf(stderr, "penstock: stopped\n");
}

}  // namespace penstock::cli
