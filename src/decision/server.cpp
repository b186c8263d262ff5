#include "decision/server.hpp"

#include <atomic>
#include <future>
#include <utility>

#include "decision/face.hpp"
#include "net/http_server.hpp"
#include "net/listener.hpp"

namespace penstock::decision {
namespace {

// The service on one loop.
struct worker {
  worker(net::loop& on, service::decider& decides, const server_options& options, trust who)
      : loop(on),
        face(on, decides, who, options.counts),
        http(on, face,
             {.body_max = options.body_max,
              .connections_max = options.connections_max,
              .idle_timeout = options.idle_timeout}),
        drain_limit(
            [](net::timer_wheel::entry& e) { static_cast<worker*>(e.owner)->http.shut_down(); },
            this) {}

  net::loop& loop;
  decision::face face;
  net::http_server http;
  std::vector<net::listening_socket> sockets;  // until start()
  net::timer_wheel::entry drain_limit;
};

// Loopback addresses and unix sockets are reached from this machine only.
bool is_local(const net::endpoint& e) {
  return e.is_unix() || e.host == "localhost" || e.host == "::1" || e.host.starts_with("127.");
}

trust trust_of(const server_options& options) {
  const bool local = options.token || is_local(options.listen);
  return {
      .original = options.believe == belief::always || (options.believe == belief::local && local),
      .peer = options.believe != belief::never && local,
      .token = options.token};
}

}  // namespace

struct server::state {
  server_options options;
  std::vector<std::string> addresses;
  std::vector<std::unique_ptr<worker>> workers;
  std::shared_ptr<const net::tls_context> tls;  // null: plain; changed by reloads only
  bool running = false;

  // Runs `work` on every worker's loop and waits for all.
  void on_all(const std::function<void(worker&, std::function<void()>)>& work) {
    std::vector<std::promise<void>> done(workers.size());
    for (std::size_t i = 0; i < workers.size(); ++i) {
      workers[i]->loop.post([&, i] { work(*workers[i], [&, i] { done[i].set_value(); }); });
    }
    for (auto& d : done) d.get_future().wait();
  }
};

result<std::unique_ptr<server>> server::open(const server_options& options,
                                             std::vector<place> places) {
  auto s = std::make_unique<state>();
  s->options = options;
  if (options.tls) {
    auto made = net::tls_context::server(options.tls->server);
    if (!made) return made.error();
    s->tls = std::move(*made);
  }
  auto opened = net::open_listener_from(
      options.listeners, "decision", options.listen,
      {.backlog = options.backlog, .shares = places.size(), .share_port = false});
  if (!opened) return opened.error();
  s->addresses.push_back(opened->where.to_string());
  for (std::size_t i = 0; i < places.size(); ++i) {
    auto& w = s->workers.emplace_back(std::make_unique<worker>(*places[i].loop, *places[i].decider,
                                                               s->options, trust_of(options)));
    if (s->tls) w->http.use_tls(s->tls, options.tls->handshake_timeout);
  }
  for (std::size_t i = 0; i < opened->sockets.size(); ++i) {
    s->workers[i % places.size()]->sockets.push_back(std::move(opened->sockets[i]));
  }
  return std::unique_ptr<server>(new server(std::move(s)));
}

server::server(std::unique_ptr<state> s) : state_(std::move(s)) {}

server::~server() {
  stop();
}

const std::vector<std::string>& server::addresses() const noexcept {
  return state_->addresses;
}

void server::start() {
  state_->running = true;
  state_->on_all([](worker& w, const std::function<void()>& done) {
    w.http.listen(std::move(w.sockets));
    done();
  });
}

void server::drain(net::idle_clients idle, std::function<void()> drained) {
  struct progress {
    std::atomic<std::size_t> left;
    std::function<void()> drained;
  };
  auto p = std::make_shared<progress>();
  p->left = state_->workers.size();
  p->drained = std::move(drained);
  const auto limit = state_->options.drain_timeout.count();
  for (auto& worker : state_->workers) {
    worker->loop.post([p, &w = *worker, limit, idle] {
      w.loop.arm(w.drain_limit, net::loop::coarse_now() + limit);
      w.http.drain(idle);
      w.http.when_idle([p, &w] {
        w.loop.disarm(w.drain_limit);
        if (p->left.fetch_sub(1) == 1) p->drained();
      });
    });
  }
}

std::optional<error> server::reload_certificates(const std::optional<tls_options>& next) {
  if (!state_->tls || !next) return std::nullopt;
  auto made = net::tls_context::server(next->server, state_->tls.get());
  if (!made) return made.error();
  state_->tls = std::move(*made);
  for (auto& worker : state_->workers) {
    worker->loop.post([&w = *worker, tls = state_->tls, timeout = next->handshake_timeout] {
      w.http.use_tls(tls, timeout);
    });
  }
  return std::nullopt;
}

void server::stop() {
  if (!std::exchange(state_->running, false)) return;
  state_->on_all([](worker& w, std::function<void()> done) {
    w.loop.disarm(w.drain_limit);
    w.http.shut_down();
    w.http.when_idle(std::move(done));
  });
}

}  // namespace penstock::decision
