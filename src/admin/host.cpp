#include "admin/host.hpp"

#include <string>
#include <thread>
#include <utility>

#include "admin/admin_face.hpp"
#include "admin/health.hpp"
#include "config/grammar/listen.hpp"
#include "net/http_server.hpp"

namespace penstock::admin {
namespace {

bool reached_from_outside(const net::endpoint& e) {
  return !config::is_local({.host = e.host, .port = e.port, .unix_path = e.unix_path});
}

net::http_server_options server_options() {
  net::http_server_options o;
  o.body_max = body_max;
  o.connections_max = 256;
  return o;
}

}  // namespace

struct host::parts {
  parts(const steady_wall_clock& clock, operations& does, telemetry::metrics& counts)
      : on(clock), health(does, counts) {}

  net::loop on;
  health_face health;
  std::optional<admin_face> admin;
  std::optional<net::http_server> admin_server;
  std::optional<net::http_server> health_server;
  std::vector<listener_info> listeners;
  std::thread thread;
  bool stopped = false;

  // Errors: io.
  std::optional<error> listen(net::listener_source* source, std::string_view face,
                              const net::endpoint& where, net::http_server& server) {
    auto opened = net::open_listener_from(source, face, where, {});
    if (!opened) return opened.error();
    listeners.push_back({std::string(face), opened->where.to_string()});
    server.listen(std::move(opened->sockets));
    return std::nullopt;
  }
};

host::host(std::unique_ptr<parts> p) : parts_(std::move(p)) {}
host::~host() {
  stop();
}

result<std::unique_ptr<host>> host::open(const host_options& options, operations& does,
                                         telemetry::metrics& counts, const steady_wall_clock& clock,
                                         std::function<void(std::string_view)> audit) {
  auto out = std::unique_ptr<host>(new host(std::make_unique<parts>(clock, does, counts)));
  parts& p = *out->parts_;
  if (options.admin) {
    if (!options.who.token && reached_from_outside(*options.admin)) {
      return error{
          errc::invalid_config,
          "admin.listen: " + options.admin->to_string() +
              " can be reached from other machines: set admin.token, or listen on 127.0.0.1"};
    }
    access_options who = options.who;
    if (!options.admin->host.empty()) who.hosts.push_back(options.admin->host);
    p.admin.emplace(p.on, does, counts, std::move(who), std::move(audit));
    p.admin_server.emplace(p.on, *p.admin, server_options());
    if (auto failed = p.listen(options.listeners, "admin", *options.admin, *p.admin_server))
      return *failed;
  }
  if (options.health) {
    p.health_server.emplace(p.on, p.health, server_options());
    if (auto failed = p.listen(options.listeners, "health", *options.health, *p.health_server))
      return *failed;
  }
  return out;
}

const std::vector<listener_info>& host::listeners() const noexcept {
  return parts_->listeners;
}
net::loop& host::loop() noexcept {
  return parts_->on;
}

void host::start() {
  parts_->thread = std::thread([p = parts_.get()] { p->on.run(); });
}

void host::hand_over() {
  parts_->on.post([p = parts_.get()] {
    for (auto* const server : {&p->admin_server, &p->health_server}) {
      if (*server) (*server)->drain(net::idle_clients::answer_once_more);
    }
  });
}

// Also for a host that was never started: what was opened must come back before it is destroyed.
void host::stop() {
  parts& p = *parts_;
  if (std::exchange(p.stopped, true)) return;
  if (!p.thread.joinable()) start();
  p.on.post([&p] {
    auto left = std::make_shared<int>(1);
    const auto one_less = [&p, left] {
      if (--*left == 0) p.on.stop();
    };
    for (auto* const server : {&p.admin_server, &p.health_server}) {
      if (!*server) continue;
      ++*left;
      (*server)->shut_down();
      (*server)->when_idle(one_less);
    }
    one_less();
  });
  p.thread.join();
}

}  // namespace penstock::admin
