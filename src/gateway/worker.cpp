#include "gateway/worker.hpp"

#include <utility>

#include "gateway/accept_port.hpp"
#include "gateway/client_connection.hpp"
#include "gateway/exchange.hpp"

namespace penstock::gateway {

worker::worker(net::loop& on, service::decider& decides, const gateway_options& opts,
               std::vector<upstream_target> targets, std::size_t connections_max,
               std::size_t in_flight_max, access_logger logs)
    : loop(on),
      decider(decides),
      options(opts),
      log(std::move(logs)),
      dead(on.context()),
      upstreams(*this, std::move(targets)),
      connections_max_(connections_max),
      in_flight_max_(in_flight_max),
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

void worker::drain() {
  if (std::exchange(draining_, true)) return;
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
  *client.previous_ = client.next_;
  if (client.next_ != nullptr) client.next_->previous_ = client.previous_;
  for (auto* port : ports_) port->resume();
}

}  // namespace penstock::gateway
