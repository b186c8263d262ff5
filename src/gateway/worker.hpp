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
#include "net/drain.hpp"
#include "net/http1_date.hpp"
#include "net/listener.hpp"
#include "net/loop.hpp"
#include "service/decider.hpp"

namespace penstock::gateway {

class accept_port;
class client_connection;
class exchange;

// One loop's shares.
struct worker_bounds {
  std::size_t connections = 0;  // clients
  std::size_t in_flight = 0;    // requests at upstreams; 0: no bound
  std::size_t handshakes = 0;   // TLS, under way; 0: no bound
};

class worker {
 public:
  // `on` and `decides` must outlive the worker. The worker must be idle (see shut_down) before it
  // is destroyed.
  worker(net::loop& on, service::decider& decides, const gateway_options& options,
         std::vector<upstream_target> targets, const worker_bounds& bounds, access_logger logs);
  ~worker();

  // All of these on the loop's thread.
  void listen(std::vector<net::listening_socket> sockets);
  // What may change while serving, see gateway::change. `log_lines_max`: of this loop.
  void change(const gateway_options& next, std::uint64_t log_lines_max);
  // Stops accepting and lets requests finish; idle clients are treated as `idle` says.
  void drain(net::idle_clients idle);
  // From now on options.drain_timeout runs; then shut_down().
  void limit_drain();
  // Closes everything, whatever it is doing.
  void shut_down();
  // Calls `done` once nothing is left, which may be at once.
  void when_idle(std::function<void()> done);

  [[nodiscard]] bool draining() const noexcept { return draining_; }
  [[nodiscard]] bool closes_idle() const noexcept {
    return draining_ && idle_ == net::idle_clients::close_soon;
  }
  [[nodiscard]] bool may_forward() const noexcept {
    return bounds_.in_flight == 0 || counters.in_flight.get() < bounds_.in_flight;
  }
  [[nodiscard]] bool full() const noexcept {
    return counters.connections.get() >= bounds_.connections ||
           (tls != nullptr && bounds_.handshakes != 0 &&
            counters.handshakes.get() >= bounds_.handshakes);
  }
  // When full: makes room for one client, which costs a kept connection that has been idle or a
  // handshake that gets nowhere. False: there is neither.
  [[nodiscard]] bool make_room();
  // Closes a client that has been idle for a second, or says that none was found.
  bool close_an_idle_client();
  [[nodiscard]] std::string_view date() { return dates_.at(net::loop::wall_seconds()); }

  std::unique_ptr<exchange> take_exchange(client_connection& client);
  void give_exchange(std::unique_ptr<exchange> used);

  void client_opened(client_connection& client);
  void client_closed(client_connection& client);
  void handshake_began(client_connection& client);
  void handshake_over(client_connection& client);

  net::loop& loop;
  service::decider& decider;
  gateway_options options;  // changes between two events only
  net::buffer_pool buffers;
  loop_counters counters;
  access_logger log;
  std::shared_ptr<const net::tls_context> tls;  // for new clients; null: plain
  graveyard dead;
  upstream_pool upstreams;

 private:
  static constexpr std::size_t exchanges_expected = 1024;  // under way at once

  bool cut_oldest_handshake();
  void resume_ports();

  worker_bounds bounds_;
  bool draining_ = false;
  net::idle_clients idle_ = net::idle_clients::close_soon;  // when draining
  net::timer_wheel::entry drain_limit_;
  net::http1::date_cache dates_;
  std::vector<accept_port*> ports_;
  std::vector<std::unique_ptr<exchange>> exchanges_;
  client_connection* first_client_ = nullptr;
  client_connection* next_looked_at_ = nullptr;   // for one to close; null: the first
  client_connection* first_handshake_ = nullptr;  // the oldest
  client_connection* last_handshake_ = nullptr;
};

}  // namespace penstock::gateway
