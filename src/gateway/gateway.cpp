#include "gateway/gateway.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <future>
#include <mutex>
#include <utility>

#include <netdb.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "gateway/worker.hpp"
#include "net/listener.hpp"

namespace penstock::gateway {

namespace {

using generic_endpoint = boost::asio::generic::stream_protocol::endpoint;

// Files, listeners, the store's connections, the other faces: never given to clients.
constexpr std::size_t reserved_descriptors = 64;

// Every address of an upstream is a target of its own, with a health of its own.
result<std::vector<upstream_target>> resolve(const upstream_options& upstream,
                                             std::uint32_t failures_until_down,
                                             const std::shared_ptr<const net::tls_context>& tls) {
  std::vector<upstream_target> out;
  const auto add = [&](const generic_endpoint& where) {
    out.push_back(
        {.where = where,
         .name = upstream.where.to_string(),
         .authority = upstream.authority.empty() ? upstream.where.to_string() : upstream.authority,
         .tls = tls,
         .tls_host = upstream.where.host,
         .health = upstream_health(failures_until_down),
         .kept = {}});
  };
  if (upstream.where.is_unix()) {
    sockaddr_un un{};
    un.sun_family = AF_UNIX;
    const auto& path = upstream.where.unix_path;
    if (path.size() >= sizeof un.sun_path) {
      return error{errc::invalid_config, "upstream unix:" + path + ": the path is too long"};
    }
    std::memcpy(un.sun_path, path.c_str(), path.size() + 1);
    add(generic_endpoint(&un, offsetof(sockaddr_un, sun_path) + path.size() + 1));
    return out;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(upstream.where.host.c_str(),
                                 std::to_string(upstream.where.port).c_str(), &hints, &found);
  if (code != 0) {
    return error{errc::io, "upstream " + upstream.where.to_string() + ": cannot resolve \"" +
                               upstream.where.host + "\": " + ::gai_strerror(code)};
  }
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    add(generic_endpoint(a->ai_addr, a->ai_addrlen));
  }
  ::freeaddrinfo(found);
  return out;
}

// Each client may need a second descriptor, for its upstream.
std::size_t connections_from_limit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
  const auto limit = static_cast<std::size_t>(files.rlim_cur);
  return limit > 2 * reserved_descriptors ? (limit - reserved_descriptors) / 2 : limit / 4;
}

std::size_t share(std::size_t total, std::size_t parts) {
  return total == 0 ? 0 : std::max<std::size_t>(1, (total + parts - 1) / parts);
}

}  // namespace

struct gateway::state {
  gateway_options options;
  std::vector<place> places;
  std::vector<net::endpoint> endpoints;
  std::vector<std::string> addresses;
  std::vector<std::vector<net::listening_socket>> sockets;  // by worker, until start()
  std::mutex tls_mutex;
  std::shared_ptr<const net::tls_context> tls;  // null: plain
  std::unique_ptr<telemetry::access_log> log;   // outlives the workers, which write to it
  std::vector<std::unique_ptr<worker>> workers;
  bool running = false;

  // Runs `work` on every worker's loop and waits for all.
  void on_all(const std::function<void(worker&, std::function<void()>)>& work) {
    std::vector<std::promise<void>> done(workers.size());
    for (std::size_t i = 0; i < workers.size(); ++i) {
      places[i].loop->post([&, i] { work(*workers[i], [&, i] { done[i].set_value(); }); });
    }
    for (auto& d : done) d.get_future().wait();
  }
};

result<std::unique_ptr<gateway>> gateway::open(const gateway_options& options,
                                               std::vector<place> places) {
  auto s = std::make_unique<state>();
  s->options = options;
  s->places = std::move(places);
  std::vector<upstream_target> targets;
  std::shared_ptr<const net::tls_context> upstream_tls;
  for (const auto& upstream : options.upstreams) {
    if (upstream.tls && !upstream_tls) {
      auto made = net::tls_context::client(options.upstream_tls);
      if (!made) return made.error();
      upstream_tls = std::move(*made);
    }
    auto resolved =
        resolve(upstream, options.failures_until_down, upstream.tls ? upstream_tls : nullptr);
    if (!resolved) return resolved.error();
    std::ranges::move(*resolved, std::back_inserter(targets));
  }
  if (targets.empty() || s->places.empty()) {
    return error{errc::invalid_config, "a gateway needs at least one upstream"};
  }
  const std::size_t loops = s->places.size();
  s->sockets.resize(loops);
  for (const auto& where : options.listen) {
    auto opened = net::open_listener_from(
        options.listeners, "gateway", where,
        {.backlog = options.backlog, .shares = loops, .share_port = options.share_port});
    if (!opened) return opened.error();
    s->endpoints.push_back(opened->where);
    s->addresses.push_back(opened->where.to_string());
    for (std::size_t i = 0; i < opened->sockets.size(); ++i) {
      s->sockets[i % loops].push_back(std::move(opened->sockets[i]));
    }
  }
  const std::size_t connections =
      options.connections_max > 0 ? options.connections_max : connections_from_limit();
  if (options.tls) {
    auto made = net::tls_context::server(*options.tls);
    if (!made) return made.error();
    s->tls = std::move(*made);
  }
  const auto& logs = s->options.access_log;
  if (logs.mode != access_log_mode::off) {
    auto log = telemetry::access_log::open(logs.path, loops);
    if (!log) return log.error();
    s->log = std::move(*log);
  }
  for (std::size_t i = 0; i < loops; ++i) {
    s->workers.push_back(std::make_unique<worker>(
        *s->places[i].loop, *s->places[i].decider, s->options, targets,
        worker_bounds{.connections = share(connections, loops),
                      .in_flight = share(options.in_flight_max, loops),
                      .handshakes = share(options.handshakes_max, loops)},
        access_logger(logs, s->log ? &s->log->of_loop(i) : nullptr, share(logs.lines_max, loops))));
    s->workers.back()->tls = s->tls;
  }
  return std::unique_ptr<gateway>(new gateway(std::move(s)));
}

gateway::gateway(std::unique_ptr<state> s) : state_(std::move(s)) {}

gateway::~gateway() {
  stop();
}

const std::vector<std::string>& gateway::addresses() const noexcept {
  return state_->addresses;
}
const std::vector<net::endpoint>& gateway::endpoints() const noexcept {
  return state_->endpoints;
}

void gateway::start() {
  state_->running = true;
  state_->on_all([this](worker& w, const std::function<void()>& done) {
    const auto i = static_cast<std::size_t>(
        std::ranges::find_if(state_->workers, [&](const auto& p) { return p.get() == &w; }) -
        state_->workers.begin());
    w.listen(std::move(state_->sockets[i]));
    done();
  });
}

void gateway::drain(net::idle_clients idle, std::function<void()> drained) {
  struct progress {
    std::atomic<std::size_t> left;
    std::function<void()> drained;
  };
  auto p = std::make_shared<progress>();
  p->left = state_->workers.size();
  p->drained = std::move(drained);
  for (std::size_t i = 0; i < state_->workers.size(); ++i) {
    worker& w = *state_->workers[i];
    state_->places[i].loop->post([p, &w, idle] {
      w.drain(idle);
      w.when_idle([p] {
        if (p->left.fetch_sub(1) == 1) p->drained();
      });
      w.limit_drain();
    });
  }
}

void gateway::stop() {
  if (!std::exchange(state_->running, false)) return;
  state_->on_all([](worker& w, std::function<void()> done) {
    w.shut_down();
    w.when_idle(std::move(done));
  });
}

void gateway::change(const gateway_options& next) {
  auto& o = state_->options;
  o.proxy_protocol_from = next.proxy_protocol_from;
  o.body_max = next.body_max;
  o.handshake_timeout = next.handshake_timeout;
  o.head_timeout = next.head_timeout;
  o.body_grace = next.body_grace;
  o.idle_timeout = next.idle_timeout;
  o.connect_timeout = next.connect_timeout;
  o.response_timeout = next.response_timeout;
  o.access_log.mode = next.access_log.mode;
  o.access_log.sample = next.access_log.sample;
  o.access_log.lines_max = next.access_log.lines_max;
  if (o.tls && next.tls) o.tls = next.tls;
  const auto lines = share(o.access_log.lines_max, state_->workers.size());
  for (std::size_t i = 0; i < state_->workers.size(); ++i) {
    state_->places[i].loop->post([w = state_->workers[i].get(), o, lines] { w->change(o, lines); });
  }
}

void gateway::reopen_logs() {
  if (state_->log) state_->log->reopen();
}

std::optional<error> gateway::reload_certificates() {
  if (!state_->options.tls) return std::nullopt;
  const std::lock_guard lock(state_->tls_mutex);
  auto made = net::tls_context::server(*state_->options.tls, state_->tls.get());
  if (!made) return made.error();
  state_->tls = std::move(*made);
  for (std::size_t i = 0; i < state_->workers.size(); ++i) {
    state_->places[i].loop->post(
        [w = state_->workers[i].get(), tls = state_->tls] { w->tls = tls; });
  }
  return std::nullopt;
}

std::vector<upstream_level> gateway::upstreams() const {
  std::vector<upstream_level> levels;
  const upstream_pool& any = state_->workers.front()->upstreams;
  for (std::size_t i = 0; i < any.size(); ++i) {
    std::int64_t latest = 0;
    for (const auto& w : state_->workers) {
      const std::int64_t here = w->upstreams.latest(i);
      if (std::abs(here) > std::abs(latest)) latest = here;
    }
    levels.push_back({.name = any.name(i), .up = latest >= 0});
  }
  return levels;
}

gateway_counts gateway::counts() const {
  gateway_counts sum;
  if (state_->log) {
    const auto log = state_->log->count();
    sum.log_lines_dropped = log.dropped;
    sum.log_write_errors = log.write_errors;
  }
  for (const auto& w : state_->workers) {
    const auto& c = w->counters;
    sum.connections += c.connections.get();
    sum.accepted += c.accepted.get();
    sum.closed += c.closed.get();
    sum.accept_pauses += c.accept_pauses.get();
    sum.idle_closed += c.idle_closed.get();
    sum.handshakes += c.handshakes.get();
    sum.handshakes_cut += c.handshakes_cut.get();
    sum.requests += c.requests.get();
    sum.handshakes_failed += c.handshakes_failed.get();
    sum.malformed += c.malformed.get();
    sum.refused += c.refused.get();
    sum.in_flight += c.in_flight.get();
    sum.forwarded += c.forwarded.get();
    sum.overloaded += c.overloaded.get();
    sum.upstream_connections += c.upstream_connections.get();
    sum.retries += c.retries.get();
    sum.upstream_answered += c.upstream_answered.get();
    sum.upstream_refused += c.upstream_refused.get();
    sum.upstream_broke_off += c.upstream_broke_off.get();
    sum.upstream_timeouts += c.upstream_timeouts.get();
    sum.upstream_abandoned += c.upstream_abandoned.get();
    sum.clients_gone += c.clients_gone.get();
    sum.clients_cut += c.clients_cut.get();
    sum.upstream_new += c.upstream_new.get();
    sum.upstream_reused += c.upstream_reused.get();
    for (std::size_t i = 0; i < sum.responses.size(); ++i) {
      sum.responses[i] += c.responses[i].get();
    }
  }
  return sum;
}

}  // namespace penstock::gateway
