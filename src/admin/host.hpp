// Runs the admin and the health listener on a loop and a thread of their own, so that a scrape or a
// page never holds up a request. The composition root opens one, starts it and stops it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <penstock/clock.hpp>
#include <penstock/result.hpp>

#include "admin/access.hpp"
#include "admin/operations.hpp"
#include "net/endpoint.hpp"
#include "net/listener_source.hpp"
#include "net/loop.hpp"
#include "telemetry/metrics.hpp"

namespace penstock::admin {

struct host_options {
  std::optional<net::endpoint> admin;
  std::optional<net::endpoint> health;
  net::listener_source* listeners = nullptr;  // where they come from, at open(); null: the system
  access_options who;                         // of the admin listener; its own host name is added
};

class host {
 public:
  // Opens the listeners; nothing is served yet. All references must outlive the host; `audit` is
  // called on the host's thread. Errors: io (address in use, …), invalid_config: an admin listener
  // that other machines reach and that has no token.
  [[nodiscard]] static result<std::unique_ptr<host>> open(
      const host_options& options, operations& does, telemetry::metrics& counts,
      const steady_wall_clock& clock, std::function<void(std::string_view)> audit);
  ~host();  // stops

  // What was opened, with real ports; faces "admin" and "health".
  [[nodiscard]] const std::vector<listener_info>& listeners() const noexcept;
  // Where `operations` gives its later answers (net::loop::post).
  [[nodiscard]] net::loop& loop() noexcept;

  void start();
  // No new connections: another process answers them. Those that exist get one more answer.
  void hand_over();
  // Cuts every connection and waits for the thread. Probes fail from here on, so it comes last.
  void stop();

 private:
  struct parts;
  explicit host(std::unique_ptr<parts> p);
  std::unique_ptr<parts> parts_;
};

}  // namespace penstock::admin
