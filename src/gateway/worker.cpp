#include "gateway/worker.hpp"

#include <utility>

#include "gateway/accept_port.hpp"
#include "gateway/client_connection.hpp"
#include "gateway/exchange.hpp"

namespace penstock::gateway {
namespace {

// A client that has asked a moment ago may be about to ask again.
constexpr std::int64_t idle_before_closed_ms = 1'000;
// Enough for a handshake with somebody far away.
constexpr std::int64_t handshake_before_cut_ms = 500;
constexpr std::size_t looked_at_at_once = 128;

}  // namespace

worker::worker(net::loop& on, service::decider& decides, const gateway_options& opts,
               std::vector<upstream_target> targets, const worker_bounds& bounds,
               access_logger logs)
    : loop(on),
      decider(decides),
      options(opts),
      log(std::move(logs)),
      dead(on.context()),
      upstreams(*this, std::move(targets)),
      bounds_(bounds),
      drain_limit_([](net::timer_wheel::entry& e) { static_cast<worker*>(e.owner)->shut_down(); },
                   this) {
  exchanges_.reserve(exchanges_expected);
}

worker::~worker() = default;

void worker::listen(std::vector<net::listening_socket> sockets) {
  for (auto& socket : sockets) {
    ports_.push_back(new accept_port(*this, std::move(socket)));  // the graveyard's rule
    ports_.back()->start();
  }
}

void worker::change(const gateway_options& next, std::uint64_t log_lines_max) {
  options = next;
  log.change(next.access_log, log_lines_max);
}

void worker::drain(net::idle_clients idle) {
  if (std::exchange(draining_, true)) return;
  idle_ = idle;
  for (auto* port : std::exchange(ports_, {})) port->close();
  upstreams.close_kept();
  for (auto* client = first_client_; client != nullptr; client = client->next_) client->drain();
}

void worker::limit_drain() {
  loop.arm(drain_limit_, net::loop::exact_now() + options.drain_timeout.count());
}

void worker::shut_down() {
  draining_ = true;
  loop.disarm(drain_limit_);
  for (auto* port : std::exchange(ports_, {})) port->close();
  upstreams.close_kept();
  while (first_client_ != nullptr) first_client_->end(client_connection::ending::close);
}

void worker::when_idle(std::function<void()> done) {
  if (dead.alive() == 0) {
    done();
    return;
  }
  dead.on_empty = std::move(done);
}

std::unique_ptr<exchange> worker::take_exchange(client_connection& client) {
  std::unique_ptr<exchange> out;
  if (exchanges_.empty()) {
    out = std::make_unique<exchange>(*this);
  } else {
    out = std::move(exchanges_.back());
    exchanges_.pop_back();
  }
  out->open(client);
  return out;
}

void worker::give_exchange(std::unique_ptr<exchange> used) {
  used->clear();
  // Kept however many there are: a caller up the stack may still look at it.
  exchanges_.push_back(std::move(used));
}

void worker::client_opened(client_connection& client) {
  ++counters.accepted;
  ++counters.connections;
  client.next_ = first_client_;
  client.previous_ = &first_client_;
  if (first_client_ != nullptr) first_client_->previous_ = &client.next_;
  first_client_ = &client;
}

void worker::client_closed(client_connection& client) {
  --counters.connections;
  ++counters.closed;
  if (next_looked_at_ == &client) next_looked_at_ = client.next_;
  *client.previous_ = client.next_;
  if (client.next_ != nullptr) client.next_->previous_ = client.previous_;
  resume_ports();
}

void worker::resume_ports() {
  for (auto* port : ports_) port->resume();
}

bool worker::make_room() {
  if (counters.connections.get() < bounds_.connections) return cut_oldest_handshake();
  return close_an_idle_client() || cut_oldest_handshake();
}

// Looks on from where it stopped the last time, at so many clients that it costs less than the new
// client will.
bool worker::close_an_idle_client() {
  const auto idle_since = net::loop::coarse_now() - idle_before_closed_ms;
  client_connection* found = nullptr;
  client_connection* at = next_looked_at_;
  for (std::size_t i = 0; i < looked_at_at_once; ++i) {
    if (at == nullptr) at = first_client_;
    if (at == nullptr) break;
    if (at->idle() && at->since_ <= idle_since &&
        (found == nullptr || at->since_ < found->since_)) {
      found = at;
    }
    at = at->next_;
  }
  next_looked_at_ = at;
  if (found == nullptr) return false;
  ++counters.idle_closed;
  found->end(client_connection::ending::close);
  return true;
}

void worker::handshake_began(client_connection& client) {
  ++counters.handshakes;
  client.previous_handshake_ = last_handshake_;
  (last_handshake_ != nullptr ? last_handshake_->next_handshake_ : first_handshake_) = &client;
  last_handshake_ = &client;
}

void worker::handshake_over(client_connection& client) {
  --counters.handshakes;
  auto* const next = std::exchange(client.next_handshake_, nullptr);
  auto* const previous = std::exchange(client.previous_handshake_, nullptr);
  (previous != nullptr ? previous->next_handshake_ : first_handshake_) = next;
  (next != nullptr ? next->previous_handshake_ : last_handshake_) = previous;
  resume_ports();
}

bool worker::cut_oldest_handshake() {
  if (first_handshake_ == nullptr ||
      first_handshake_->since_ > net::loop::coarse_now() - handshake_before_cut_ms) {
    return false;
  }
  ++counters.handshakes_cut;
  first_handshake_->end(client_connection::ending::close);
  return true;
}

}  // namespace penstock::gateway
