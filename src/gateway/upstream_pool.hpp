// The upstreams of one loop: whose turn it is, which are left out because they fail, and the
// connections kept for the next request. Health is passive: it is learned from requests, never from
// probes of our own. Not thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/generic/stream_protocol.hpp>

#include "gateway/options.hpp"
#include "gateway/upstream_health.hpp"
#include "net/tls.hpp"

namespace penstock::gateway {

class exchange;
class upstream_connection;
class worker;

// One address that requests are sent to.
struct upstream_target {
  boost::asio::generic::stream_protocol::endpoint where;
  std::string name;                             // for messages: "127.0.0.1:3000"
  std::string authority;                        // Host for requests that carry none
  std::shared_ptr<const net::tls_context> tls;  // null: plain
  std::string tls_host;                         // asked for and checked
  upstream_health health;                       // told by succeeded() and failed()
  std::vector<upstream_connection*> kept;       // the most recently used at the back
};

class upstream_pool {
 public:
  upstream_pool(worker& owner, std::vector<upstream_target> targets);
  upstream_pool(const upstream_pool&) = delete;
  upstream_pool& operator=(const upstream_pool&) = delete;

  enum class kind : std::uint8_t { any, fresh };
  // A connection for `user`: a kept one, ready to be written to, or (`fresh`, or none kept) a new
  // one that will report to `user`. `avoid` (may be null) is taken only when nothing else is there.
  upstream_connection& take(exchange& user, kind want, const upstream_target* avoid);

  // Back from a request and clean: kept, or closed when enough are kept.
  void give(upstream_connection& connection);
  // A kept connection that must not be used any more.
  void forget(upstream_connection& connection);
  void close_kept();

  [[nodiscard]] std::size_t size() const noexcept { return targets_.size(); }

  // How a request to one of the targets fared, at a coarse time.
  void succeeded(upstream_target& target, std::int64_t now) noexcept;
  void failed(upstream_target& target, std::int64_t now) noexcept;

  // For other threads.
  [[nodiscard]] const std::string& name(std::size_t i) const noexcept { return targets_[i].name; }
  // When the latest request got through, or, negative, when it failed; 0: there was none.
  [[nodiscard]] std::int64_t latest(std::size_t i) const noexcept {
    return latest_[i].load(std::memory_order_relaxed);
  }

 private:
  upstream_target& choose(const upstream_target* avoid);

  worker& owner_;
  std::vector<upstream_target> targets_;
  std::vector<std::atomic<std::int64_t>> latest_;  // by target
  std::size_t turn_ = 0;
};

}  // namespace penstock::gateway
