// One worker of a gateway on a loop that the caller turns, with a client on a socket pair and an
// upstream on a unix socket. For the oracles; nothing here waits.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>

#include <penstock/clock.hpp>

#include "gateway/worker.hpp"
#include "net/loop.hpp"
#include "net/tls.hpp"
#include "service/decider.hpp"
#include "telemetry/access_log.hpp"

namespace penstock::gateway::testing {

// Admits every request as it is.
class admitting final : public service::decider {
 public:
  service::answer decide(service::exchange_context& x, instant now) override;
  void cancel(service::exchange_context&, instant) override {}
  void completed(service::exchange_context&, int, instant) override {}
  [[nodiscard]] std::span<const std::string> untrusted_fields() const noexcept override {
    return {};
  }
  std::size_t decided = 0;
};

// The upstream's end of one connection.
struct upstream_end {
  int descriptor = -1;
  std::string received;
  std::size_t answered = 0;  // the test's own
  bool ended = false;        // by the gateway
};

class proxy_rig {
 public:
  proxy_rig();
  ~proxy_rig();
  proxy_rig(const proxy_rig&) = delete;
  proxy_rig& operator=(const proxy_rig&) = delete;

  // Called for each upstream connection whenever something came.
  std::function<void(upstream_end&)> on_upstream;

  void open_client();
  void client_sends(std::string_view octets);
  void client_ends();  // its sending half
  // Turns until nothing moves any more.
  void settle();
  // Closes everything and forgets it; the next client finds a fresh gateway.
  void clear();

  void upstream_sends(upstream_end& to, std::string_view octets);
  void upstream_closes(upstream_end& which);

  std::string client_received;
  bool client_ended = false;  // by the gateway
  std::vector<std::unique_ptr<upstream_end>> upstreams;
  admitting decider;

  // What the next open_client() uses. Must outlive what it opens.
  service::decider* decides = &decider;
  access_log_options log{};
  telemetry::access_log::ring* log_ring = nullptr;  // null: no log
  std::shared_ptr<const net::tls_context> tls;      // null: plain

  // The client's descriptor, which the rig does not read from then on; it closes it.
  [[nodiscard]] int take_over_client() noexcept;
  [[nodiscard]] net::loop& loop() noexcept { return loop_; }
  // One turn of everything. False: nothing moved.
  bool turn();

  [[nodiscard]] const loop_counters& counters() const noexcept { return worker_->counters; }

 private:
  steady_wall_clock clock_;
  net::loop loop_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> guard_;
  gateway_options options_;
  int listener_ = -1;
  upstream_target target_;
  std::unique_ptr<worker> worker_;  // from open_client() to clear()
  int client_ = -1;
  bool reads_client_ = true;
};

}  // namespace penstock::gateway::testing
