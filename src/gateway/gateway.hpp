// The reverse proxy as the composition root sees it: open the sockets, run on the given loops,
// drain, stop. One worker per loop; they share nothing but the options.
//
// All functions may be called from any thread but the loops' own; the loops must be running from
// start() until stop() has returned.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <penstock/result.hpp>

#include "gateway/counters.hpp"
#include "gateway/options.hpp"
#include "net/drain.hpp"
#include "net/loop.hpp"
#include "service/decider.hpp"

namespace penstock::gateway {

class gateway {
 public:
  // A loop and who decides on it.
  struct place {
    net::loop* loop = nullptr;
    service::decider* decider = nullptr;
  };

  // Opens every address and resolves every upstream. The places must outlive the gateway.
  // Errors: io or invalid_config, in words for a person.
  static result<std::unique_ptr<gateway>> open(const gateway_options& options,
                                               std::vector<place> places);
  ~gateway();  // stops, if stop() was not called
  gateway(const gateway&) = delete;
  gateway& operator=(const gateway&) = delete;

  // The addresses listened on, with their real ports, in the order of the options.
  [[nodiscard]] const std::vector<std::string>& addresses() const noexcept;
  // The same, parsed.
  [[nodiscard]] const std::vector<net::endpoint>& endpoints() const noexcept;

  void start();

  // No new connections; requests under way finish, with `Connection: close`; idle clients are
  // treated as `idle` says. Calls `drained` once, on some loop's thread, when the last client has
  // gone or options.drain_timeout has passed.
  void drain(net::idle_clients idle, std::function<void()> drained);

  // Closes everything and waits until it is closed.
  void stop();

  // Takes over what may change while serving: deadlines, body_max, proxy_protocol_from, which
  // requests are logged, and which certificates reload_certificates() reads. Everything else of
  // `next` has no effect. Requests under way end by the deadlines that they began with, or by the
  // new ones. Only between start() and stop(), from one thread.
  void change(const gateway_options& next);

  // Files that may have been replaced are opened anew: the access log's. Done soon, in the
  // background; a file that cannot be opened leaves the old one in use.
  void reopen_logs();

  // Reads certificates and keys anew. On an error, in words for a person, the old ones stay in use;
  // connections that exist keep theirs in any case. Only between start() and stop().
  [[nodiscard]] std::optional<error> reload_certificates();

  [[nodiscard]] gateway_counts counts() const;
  // In the order of the options. Down: the latest request that was sent there failed.
  [[nodiscard]] std::vector<upstream_level> upstreams() const;

 private:
  struct state;
  explicit gateway(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace penstock::gateway
