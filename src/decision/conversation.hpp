// What one connection of the decision listener is busy with: the request it must answer, what is
// asked of the decider, and strings that are used again. An endpoint asks, and goes on when the
// decision is there. Lives on one loop, with its connection.
#pragma once

#include <memory>
#include <string>

#include "decision/auth/original.hpp"
#include "decision/http/check_request.hpp"
#include "decision/trust.hpp"
#include "net/http_server.hpp"
#include "net/loop.hpp"
#include "net/timer_wheel.hpp"
#include "service/decider.hpp"

namespace penstock::decision {

class conversation final : public net::http_attachment {
 public:
  using step = void (*)(conversation&);

  conversation(net::loop& on, service::decider& decides, trust who);
  ~conversation() override;

  // Asks about context.request. True: context.decision is there. False: `then` is called later.
  bool ask(step then);
  // Calls `then` after `wait`.
  void hold(duration wait, step then);
  // Nobody waits for the answer any more.
  void abandon();

  // Answers the exchange; nothing of the conversation may be touched afterwards.
  void answer(int status, std::string_view content_type, std::string_view content,
              std::string_view fields);

  net::http_exchange* exchange = nullptr;  // while its answer is due
  const trust who;
  service::exchange_context context;

  auth_parameters auth;     // of the request in hand
  check_questions checks;   // of the request in hand
  std::size_t checked = 0;  // how many of them are decided
  std::string content, lines;

 private:
  enum class phase : std::uint8_t { idle, deciding, holding };

  static void on_decided(service::exchange_context& x);
  static void on_time(net::timer_wheel::entry& e);
  void go_on();

  net::loop& loop_;
  service::decider& decider_;
  net::timer_wheel::entry hold_;
  phase phase_ = phase::idle;
  step then_ = nullptr;
};

// What the policy calls the peer of an exchange; a unix socket's is this machine.
[[nodiscard]] policy::address address_of(const net::peer_address& peer) noexcept;

}  // namespace penstock::decision
