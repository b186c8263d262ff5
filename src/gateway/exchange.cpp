#include "gateway/exchange.hpp"

#include <utility>

#include "base/ascii.hpp"
#include "gateway/client_connection.hpp"
#include "gateway/worker.hpp"
#include "net/http1_write.hpp"

namespace penstock::gateway {

namespace http1 = net::http1;

namespace {
// What limits that count failures are told when the client left before there was an answer.
constexpr int client_gone_status = 499;
}  // namespace

exchange::exchange(worker& owner)
    : owner_(owner),
      parser_({.request_line_max = owner.options.request_line_max,
               .head_max = owner.options.head_max,
               .fields_max = owner.options.fields_max}),
      // An upstream's head is bounded too, more generously: it is not ours to teach.
      response_parser_({.request_line_max = 8U << 10U, .head_max = 60U << 10U, .fields_max = 100}),
      delay_(&exchange::on_delay_over, this) {
  context_.owner = this;
  context_.on_decided = &exchange::on_decided;
}

exchange::~exchange() = default;

void exchange::open(client_connection& client) {
  client_ = &client;
  if (owner_.log.on()) began_ = owner_.loop.now();
}

void exchange::clear() noexcept {
  client_ = nullptr;
  upstream_ = nullptr;
  at_ = state::reading_head;
  parser_.reset();
  response_parser_.reset();
  owner_.loop.disarm_fine(delay_);
  to_client_.clear();
  asked_ = nullptr;
  status_ = 0;
  sent_octets_ = 0;
  head_complete_ = decided_ = accounted_ = false;
  body_octets_ = 0;
  request_gathered_ = response_gathered_ = upstream_written_ = 0;
  attempts_ = interims_ = 0;
  close_ = request_done_ = request_sent_ = upload_over_ = counted_ = told_ = false;
  result_known_ = false;
  asks_upgrade_ = may_continue_ = head_taken_ = response_begun_ = response_done_ = false;
  client_ended_ = upstream_ended_ = false;
  // Views into a block that is about to serve somebody else.
  head_.method = {};
  head_.version_minor = 1;
}

// --- the decision

void exchange::begin() {
  ++owner_.counters.requests;
  head_complete_ = true;
  close_ = !head_.keep_alive || owner_.draining();
  body_.start(head_.body, head_.content_length);
  request_done_ = head_.body == http1::framing::none ||
                  (head_.body == http1::framing::content_length && head_.content_length == 0);
  may_continue_ = head_.expect_continue && !request_done_;
  if (head_.method == "CONNECT") return fail(501, "CONNECT is not offered");
  if (head_.body == http1::framing::content_length &&
      head_.content_length > owner_.options.body_max) {
    ++owner_.counters.malformed;
    return fail(413, "the body is longer than the gateway accepts");
  }
  context_.request = {.method = head_.method,
                      .path = head_.path,
                      .query = head_.query,
                      .host = head_.authority,
                      .fields = head_.fields,
                      .peer = client_->peer()};
  at_ = state::deciding;
  if (owner_.decider.decide(context_, owner_.loop.now()) == service::answer::pending) {
    watch_client();
    return;
  }
  decided();
}

void exchange::on_decided(service::exchange_context& context) {
  static_cast<exchange*>(context.owner)->decided();
}

void exchange::decided() {
  decided_ = true;
  switch (context_.decision.what) {
    case policy::outcome::deny:
    case policy::outcome::degraded_deny:
      refuse();
      return;
    case policy::outcome::delay: {
      at_ = state::delayed;
      // One more: the clock's millisecond has begun already, and early is wrong where late is not.
      const auto wait_ms = (context_.decision.delay.count() + 999) / 1000 + 1;
      owner_.loop.arm_fine(delay_, net::loop::exact_now() + wait_ms);
      watch_client();
      return;
    }
    case policy::outcome::allow:
    case policy::outcome::degraded_allow:
      forward();
      return;
  }
}

void exchange::on_delay_over(net::timer_wheel::entry& e) {
  static_cast<exchange*>(e.owner)->forward();
}

// Reads ahead, so that a client that leaves is noticed; what comes stays in the buffer. A client
// that has pipelined further requests may have closed its half and still wants its answers.
void exchange::watch_client() {
  if (client_->in.empty() || !request_done_) client_->read_more(client_connection::room::small);
}

void exchange::withdraw_decision() {
  if (at_ != state::deciding && at_ != state::delayed) return;
  owner_.loop.disarm_fine(delay_);
  owner_.decider.cancel(context_, owner_.loop.now());
}

// --- answers of our own

void exchange::refuse() {
  ++owner_.counters.refused;
  // A message that we and an upstream could read differently: nothing behind it is read at all.
  if (context_.plan.what == policy::planned::bad_request) close_ = true;
  const auto& d = context_.decision;
  local_answer refusal;
  refusal.status = d.status;
  refusal.fields = d.headers;
  if (!d.body.empty()) refusal.content_type = d.content_type;
  refusal.body = d.body;
  answer(refusal);
}

void exchange::malformed() {
  ++owner_.counters.malformed;
  const auto error = parser_.error();
  close_ = true;
  fail(error.status, error.reason);
}

void exchange::head_too_slow() {
  close_ = true;
  fail(408, "the request's head took too long");
}

void exchange::body_too_slow() {
  close_ = true;
  if (response_begun_) return cut();
  fail(408, "the request's body came too slowly");
}

void exchange::client_too_slow() {
  cut();
}

// `reason` is a static sentence of ours without quotes: it goes into JSON as it is.
void exchange::fail(int status, std::string_view reason) {
  context_.decision.body.assign(R"({"error":")");
  for (const char c : http1::reason_phrase(status))
    context_.decision.body.push_back(ascii::lower(c));
  context_.decision.body.append(R"(","reason":")").append(reason).append("\"}\n");
  local_answer failure;
  failure.status = status;
  if (status == 503) failure.fields = "Retry-After: 1\r\n";
  failure.content_type = "application/json";
  failure.body = context_.decision.body;
  answer(failure);
}

void exchange::answer(local_answer& what) {
  // Part of an interim response is still on its way: nothing sensible can follow it at once.
  if (!to_client_.empty()) return cut();
  leave_upstream(false);
  if (at_ != state::reading_head) skip_buffered_body();
  if (!request_done_) close_ = true;
  at_ = state::answering;
  status_ = what.status;
  what.date = owner_.date();
  what.client_minor = head_.version_minor;
  what.close = close_;
  what.head_request = head_.method == "HEAD";
  response_text_.clear();
  append_local_answer(what, response_text_);
  to_client_.clear();
  to_client_.add(response_text_);
  switch (client_->flush()) {
    case client_connection::flushed::sent:
      answer_written();
      return;
    case client_connection::flushed::full:
      return;
    case client_connection::flushed::gone:
      client_left();
      return;
  }
}

// A body that has come in full with its head costs nothing to skip and saves the connection.
void exchange::skip_buffered_body() {
  client_->in.consume(request_gathered_);
  request_gathered_ = 0;
  while (!request_done_ && !client_->in.empty()) {
    const auto step = body_.next(client_->in.view());
    if (step.bad) return;
    client_->in.consume(step.consumed);
    request_done_ = step.done;
  }
}

void exchange::answer_written() {
  over(true);
}

// --- the end

void exchange::leave_upstream(bool clean) {
  if (upstream_ != nullptr) {
    auto& connection = *std::exchange(upstream_, nullptr);
    if (clean) {
      owner_.upstreams.give(connection);
    } else {
      connection.close();
    }
  }
  if (std::exchange(counted_, false)) {
    if (!result_known_) count_result(owner_.counters.upstream_abandoned);
    --owner_.counters.in_flight;
  }
}

void exchange::count_result(cell& of) noexcept {
  result_known_ = true;
  ++of;
}

void exchange::completed(int status) {
  if (std::exchange(told_, true)) return;
  owner_.decider.completed(context_, status, owner_.loop.now());
}

void exchange::client_left() {
  if (at_ == state::tunnel) {
    client_ended_ = true;
    pump_tunnel_up();
    return;
  }
  ++owner_.counters.clients_gone;
  // Half of a body is no body: the upstream's connection is cut before it can take it for one.
  over(false);
}

void exchange::abandon() {
  withdraw_decision();
  if (counted_) completed(client_gone_status);
  if (at_ != state::reading_head && at_ != state::over) account(at_ == state::tunnel);
  leave_upstream(false);
  at_ = state::over;
}

void exchange::over(bool client_usable) {
  withdraw_decision();
  if (counted_) completed(client_gone_status);
  account(client_usable || at_ == state::tunnel);
  leave_upstream(false);
  at_ = state::over;
  auto then = client_connection::then::close;
  if (client_usable) {
    then =
        close_ || !request_done_ ? client_connection::then::linger : client_connection::then::keep;
  }
  client_->exchange_over(then);
}

// The client has part of an answer that will never be whole: it must not take it for complete.
void exchange::cut() {
  account(false);
  leave_upstream(false);
  at_ = state::over;
  client_->exchange_over(client_connection::then::reset);
}

void exchange::client_octets() {
  if (at_ == state::forwarding && !request_done_) {
    pump_request();
  } else if (at_ == state::tunnel) {
    pump_tunnel_up();
  }
}

void exchange::client_drained() {
  switch (at_) {
    case state::answering:
      answer_written();
      return;
    case state::tunnel:
      pump_tunnel_down();
      return;
    default:
      pump_response();
  }
}

}  // namespace penstock::gateway
