// The decision service as the composition root sees it: `/v1/auth` for proxies and `/v1/check` for
// programs on one listener, served on all the given loops.
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

#include "decision/options.hpp"
#include "net/drain.hpp"
#include "net/loop.hpp"
#include "service/decider.hpp"

namespace penstock::decision {

class server {
 public:
  // A loop and who decides on it.
  struct place {
    net::loop* loop = nullptr;
    service::decider* decider = nullptr;
  };

  // Opens the address. The places must outlive the server. Errors: io, in words for a person.
  static result<std::unique_ptr<server>> open(const server_options& options,
                                              std::vector<place> places);
  ~server();  // stops, if stop() was not called
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  // The addresses listened on, with their real ports.
  [[nodiscard]] const std::vector<std::string>& addresses() const noexcept;

  void start();

  // No new connections; checks under way are answered; idle clients are treated as `idle` says.
  // Calls `drained` once, on some loop's thread, when the last client has gone or
  // options.drain_timeout has passed.
  void drain(net::idle_clients idle, std::function<void()> drained);

  // Reads certificates and keys anew, from the files that `next` names. On an error, in words for a
  // person, the old ones stay in use. Without TLS at open() it does nothing.
  [[nodiscard]] std::optional<error> reload_certificates(const std::optional<tls_options>& next);

  // Closes everything and waits until it is closed.
  void stop();

 private:
  struct state;
  explicit server(std::unique_ptr<state> s);
  std::unique_ptr<state> state_;
};

}  // namespace penstock::decision
