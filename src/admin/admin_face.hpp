// The admin listener: dashboard, health, and the API under /api/v1. Thin: access.hpp says who may,
// reports.hpp writes the JSON, operations.hpp does the work. Lives on one loop, best not one that
// serves requests: a report may take a millisecond.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admin/access.hpp"
#include "admin/change.hpp"
#include "admin/history.hpp"
#include "admin/operations.hpp"
#include "net/http_server.hpp"
#include "telemetry/metrics.hpp"

namespace penstock::admin {

// The bodies of changes are small; everything larger is a mistake.
inline constexpr std::size_t body_max = 16U << 10U;

class admin_face final : public net::http_handler {
 public:
  // `audit` gets a line of JSON for every change that was tried, on the admin loop. All references
  // must outlive the face. Starts to collect offenders and history at once.
  admin_face(net::loop& on, operations& does, telemetry::metrics& counts, access_options who,
             std::function<void(std::string_view)> audit);
  ~admin_face() override;

  void handle(net::http_exchange& x) override;
  void abandoned(net::http_exchange& x) override;
  void connection_opened() override { counts_.add(telemetry::tally::admin_accepted); }
  void connection_closed() override { counts_.add(telemetry::tally::admin_closed); }
  void connection_refused() override { counts_.add(telemetry::tally::admin_refused); }

 private:
  struct route;
  static const std::vector<route>& routes();
  // The exchange that waits for an answer; nullptr inside once nobody waits any more.
  using waiting = std::shared_ptr<net::http_exchange*>;

  void api(net::http_exchange& x, std::string_view path);
  void answer(net::http_exchange& x, std::string_view json);
  void refuse(net::http_exchange& x, int status, std::string_view sentence,
              std::string_view fields = {});
  waiting wait_for(net::http_exchange& x);
  template <class T, class Write>
  done<T> answer_with(net::http_exchange& x, Write write);
  // The same for a change: with audit, event and count.
  template <class T, class Write>
  done<T> change_with(net::http_exchange& x, std::string_view action, telemetry::tally counted,
                      change what, Write write);
  void changed(std::string_view action, telemetry::tally counted, std::string_view peer,
               const change& what, std::string_view error);

  // Why there is no such limit; empty when there is one, or none was named.
  [[nodiscard]] std::string unknown_limit(const std::string& name);
  // Answers 404 and returns true when the change names a limit that does not exist.
  bool refuse_unknown_limit(net::http_exchange& x, std::string_view action,
                            telemetry::tally counted, const change& what);

  void get_status(net::http_exchange& x);
  void get_limits(net::http_exchange& x);
  void get_offenders(net::http_exchange& x);
  void get_refusals(net::http_exchange& x);
  void get_events(net::http_exchange& x);
  void get_history(net::http_exchange& x);
  void get_bans(net::http_exchange& x);
  void get_overrides(net::http_exchange& x);
  void get_inspect(net::http_exchange& x);
  void post_reset(net::http_exchange& x);
  void post_ban(net::http_exchange& x);
  void post_unban(net::http_exchange& x);
  void post_override(net::http_exchange& x);
  void post_lift_override(net::http_exchange& x);
  void post_reload(net::http_exchange& x);

  static void on_step(net::timer_wheel::entry& e);
  void step();

  net::loop& loop_;
  operations& does_;
  telemetry::metrics& counts_;
  access access_;
  std::function<void(std::string_view)> audit_;
  history history_;
  net::timer_wheel::entry step_;
};

}  // namespace penstock::admin
