// The exchange in the counters and as a line of the access log, once, when it is over.
#include "gateway/access_line.hpp"
#include "gateway/client_connection.hpp"
#include "gateway/exchange.hpp"
#include "gateway/worker.hpp"

namespace penstock::gateway {

namespace {

constexpr int client_gone_status = 499;

std::string_view name_of(const service::exchange_context& x) noexcept {
  switch (x.plan.what) {
    case policy::planned::exempt:
      return "exempt";
    case policy::planned::blocked:
      return "blocked";
    case policy::planned::bad_request:
      return "bad_request";
    case policy::planned::check:
    case policy::planned::deny:
      break;
  }
  switch (x.decision.what) {
    case policy::outcome::allow:
      return "allow";
    case policy::outcome::delay:
      return "delay";
    case policy::outcome::deny:
      return "deny";
    case policy::outcome::degraded_allow:
      return "degraded_allow";
    case policy::outcome::degraded_deny:
      return "degraded_deny";
  }
  return "";
}

}  // namespace

void exchange::account(bool complete) {
  if (std::exchange(accounted_, true)) return;
  if (status_ >= 100 && status_ < 600)
    ++owner_.counters.responses[static_cast<std::size_t>(status_ / 100 - 1)];
  if (owner_.log.on()) log(complete);
}

void exchange::log(bool complete) {
  const auto& decision = context_.decision;
  const bool refused =
      decided_ && (decision.what == policy::outcome::deny ||
                   decision.what == policy::outcome::degraded_deny || decision.shadow_refused);
  if (!owner_.log.wants(refused, net::loop::wall_seconds())) return;
  access_record r{.began = began_,
                  .took = owner_.loop.now() - began_,
                  .client = client_->peer_text(),
                  .peer = client_->peer_text(),
                  .status = status_ == 0 ? client_gone_status : status_,
                  .complete = complete && status_ != 0,
                  .bytes = sent_octets_};
  if (head_complete_) {
    r.method = head_.method;
    r.host = head_.authority;
    r.path = head_.path;
  }
  if (decided_) {
    if (!context_.plan.path.empty()) r.path = context_.plan.path;
    if (context_.plan.client != client_->peer()) {
      client_text_.clear();
      context_.plan.client.append_to(client_text_);
      r.client = client_text_;
    }
    r.decision = name_of(context_);
    r.shadow_refused = decision.shadow_refused;
    if (context_.policy && decision.reported < context_.policy->limits().size()) {
      r.limit = context_.policy->limits()[decision.reported].name;
    }
  }
  if (asked_ != nullptr) r.upstream = asked_->name;
  auto& line = owner_.log.line;
  line.clear();
  append_access_line(r, line);
  owner_.log.put();
}

}  // namespace penstock::gateway
