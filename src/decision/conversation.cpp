#include "decision/conversation.hpp"

#include <algorithm>
#include <utility>

namespace penstock::decision {

conversation::conversation(net::loop& on, service::decider& decides, trust trusted)
    : who(trusted), loop_(on), decider_(decides), hold_(&conversation::on_time, this) {
  context.on_decided = &conversation::on_decided;
  context.owner = this;
}

conversation::~conversation() {
  loop_.disarm_fine(hold_);
}

bool conversation::ask(step then) {
  then_ = then;
  phase_ = phase::deciding;
  if (decider_.decide(context, loop_.now()) == service::answer::pending) return false;
  phase_ = phase::idle;
  return true;
}

void conversation::hold(duration wait, step then) {
  then_ = then;
  phase_ = phase::holding;
  // One more: the clock's millisecond has begun already, and early is wrong where late is not.
  loop_.arm_fine(hold_, net::loop::exact_now() + (wait.count() + 999) / 1000 + 1);
}

void conversation::abandon() {
  exchange = nullptr;
  if (std::exchange(phase_, phase::idle) == phase::idle) return;
  loop_.disarm_fine(hold_);
  decider_.cancel(context, loop_.now());
}

void conversation::answer(int status, std::string_view content_type, std::string_view text,
                          std::string_view with) {
  std::exchange(exchange, nullptr)->answer(status, content_type, text, with);
}

void conversation::on_decided(service::exchange_context& x) {
  static_cast<conversation*>(x.owner)->go_on();
}

void conversation::on_time(net::timer_wheel::entry& e) {
  static_cast<conversation*>(e.owner)->go_on();
}

void conversation::go_on() {
  phase_ = phase::idle;
  then_(*this);
}

policy::address address_of(const net::peer_address& peer) noexcept {
  switch (peer.what) {
    case net::peer_address::kind::v4: {
      std::array<std::uint8_t, 4> octets{};
      std::copy_n(peer.octets.begin(), octets.size(), octets.begin());
      return policy::address::v4(octets);
    }
    case net::peer_address::kind::v6:
      return policy::address::v6(peer.octets);
    case net::peer_address::kind::unix_socket:
      break;
  }
  return policy::address::v4({127, 0, 0, 1});
}

}  // namespace penstock::decision
