// The gateway on one event loop: its listening sockets, its clients, its upstream connections and
// the pools they draw from. Nothing of it is shared with another loop, the counters' readers apart.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "gateway/access_logger.hpp"
#include "gateway/counters.hpp"
#include "gateway/loop_object.hpp"
#include "gateway/options.hpp"
#include "gateway/upstream_pool.hpp"
#include "net/buffer_pool.hpp"
#include "net/http1_date.hpp"
#include "net/listener.hpp"
#include "net/loop.hpp"
#include "service/decider.hpp"

namespace penstock::gateway {

class accept_port;
class client_connection;
class exchange;

class worker {
 public:
  // `options`, `on` and `decides` must outlive the worker. The worker must be idle (see shut_down)
  // before it is destroyed.
  worker(net::loop& on, service::decider& decides, const gateway_options& options,
         std::vector<upstream_target> targets, std::size_t connections_max,
         std::size_t in_flight_max, access_logger logs);
  ~worker();

  // All of these on the loop's thread.
  void listen(std::vector<net::listening_socket> sockets);
  // Stops accepting and lets requests finish; idle clients are closed soon.
  void drain();
  // From now on options.drain_timeout runs; then shut_down().
  void limit_drain();
  // Closes everything, whatever it is doing.
  void shut_down();
  // Calls `done` once nothing is left, which may be at once.
  void when_idle(std::function<void()> done);

  [[nodiscard]] bool draining() const noexcept { return draining_; }
  [[nodiscard]] bool may_forward() const noexcept {
    return in_flight_max_ == 0 || counters.in_flight.get() < in_flight_max_;
  }
  [[nodiscard]] bool full() const noexcept {
    return counters.connections.get() >= connections_max_;
  }
  [[nodiscard]] std::string_view date() { return dates_.at(net::loop::wall_seconds()); }

  std::unique_ptr<exchange> take_exchange(client_connection& client);
  void give_exchange(std::unique_ptr<exchange> used);

  void client_opened(client_connection& client);
  void client_closed(client_connection& client);

  net::loop& loop;
  service::decider& decider;
  const gateway_options& options;
  net::buffer_pool buffers;
  loop_counters counters;
  access_logger log;
  std::shared_ptr<const net::tls_context> tls;  // for new clients; null: plain
  graveyard dead;
  upstream_pool upstreams;

 private:
  static constexpr std::size_t exchanges_expected = 1024;  // under way at once

  std::size_t connections_max_;
  std::size_t in_flight_max_;
  bool draining_ = false;
  net::timer_wheel::entry drain_limit_;
  net::http1::date_cache dates_;
  std::vector<accept_port*> ports_;
  std::vector<std::unique_ptr<exchange>> exchanges_;
  client_connection* first_client_ = nullptr;
};

}  // namespace penstock::gateway
