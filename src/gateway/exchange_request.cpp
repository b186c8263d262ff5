// The exchange towards its upstream: choosing one, sending head and body as they come, and trying
// again where that can neither repeat an effect nor charge a second time.
#include "gateway/client_connection.hpp"
#include "gateway/exchange.hpp"
#include "gateway/worker.hpp"
#include "net/http1_write.hpp"

namespace penstock::gateway {

namespace http1 = net::http1;

namespace {

// Methods that may be sent again when nobody knows whether they were carried out (RFC 9110 9.2.2).
bool idempotent(std::string_view method) noexcept {
  return method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "PUT" ||
         method == "DELETE";
}

constexpr std::uint32_t attempts_max = 3;

}  // namespace

void exchange::forward() {
  at_ = state::connecting;
  if (!owner_.may_forward()) {
    ++owner_.counters.overloaded;
    fail(503, "the gateway has as many requests under way as it may");
    return;
  }
  counted_ = true;
  ++owner_.counters.in_flight;
  ++owner_.counters.forwarded;
  connect(upstream_pool::kind::any, nullptr);
}

void exchange::connect(upstream_pool::kind want, const upstream_target* avoid) {
  ++attempts_;
  at_ = state::connecting;
  upstream_ = &owner_.upstreams.take(*this, want, avoid);
  asked_ = &upstream_->target();
  if (upstream_->reused()) {
    send_request();
  } else {
    watch_client();
  }
}

void exchange::upstream_connected() {
  send_request();
}

void exchange::send_request() {
  at_ = state::forwarding;
  const bool peer_is_client = context_.plan.client == client_->peer();
  if (!peer_is_client) {
    client_text_.clear();
    context_.plan.client.append_to(client_text_);
  }
  asks_upgrade_ = upgrade_allowed(head_);
  request_text_.clear();
  append_upstream_request(
      head_,
      {.path = context_.plan.path,
       .authority = head_.authority.empty() ? std::string_view(upstream_->target().authority)
                                            : head_.authority,
       .peer = client_->peer_text(),
       .client = peer_is_client ? client_->peer_text() : std::string_view(client_text_),
       .peer_trusted = context_.plan.from_trusted_peer,
       .scheme = client_->stream.tls() != nullptr ? client_scheme::https : client_scheme::http,
       .via = owner_.options.via,
       .upgrade = asks_upgrade_,
       .expect_continue = may_continue_ && client_->in.empty(),
       .untrusted_fields = owner_.decider.untrusted_fields()},
      request_text_);
  upstream_written_ = 0;
  context_.forwarded_at = owner_.loop.now();
  upstream_->out.add(request_text_);
  upstream_->set_deadline(may_continue_ ? owner_.options.continue_timeout
                                        : owner_.options.response_timeout);
  // Armed before the write, which may end everything.
  upstream_->read_more();
  pump_request();
}

// Moves as much of the request as the upstream's socket takes.
void exchange::pump_request() {
  while (!request_sent_ && !upload_over_) {
    if (request_gathered_ == 0) gather_request();
    if (at_ != state::forwarding) return;  // the body was broken or too long
    switch (upstream_->out.flush(upstream_->stream, upstream_written_)) {
      case net::write_queue::state::full:
        client_->pause_body();
        if (!response_begun_) upstream_->set_deadline(owner_.options.response_timeout);
        upstream_->wait_writable();
        return;
      case net::write_queue::state::failed:
        upstream_write_failed();
        return;
      case net::write_queue::state::sent:
        break;
    }
    client_->in.consume(request_gathered_);
    request_gathered_ = 0;
    if (request_done_) {
      request_sent();
      return;
    }
    if (client_->in.empty()) {
      // The upstream's time does not run while the client is what we wait for.
      if (!may_continue_ && !response_begun_) upstream_->clear_deadline();
      client_->expect_body();
      client_->read_more(client_connection::room::large);
      return;
    }
  }
}

void exchange::gather_request() {
  auto& out = upstream_->out;
  const std::string_view window = client_->in.view();
  while (!request_done_ && out.room() >= 4) {
    const auto step = body_.next(window.substr(request_gathered_));
    request_gathered_ += step.consumed;
    if (step.bad) return request_body_broken();
    if (!step.data.empty()) {
      body_octets_ += step.data.size();
      if (body_octets_ > owner_.options.body_max) {
        ++owner_.counters.malformed;
        if (response_begun_) return cut();
        close_ = true;
        completed(413);
        return fail(413, "the body is longer than the gateway accepts");
      }
      if (head_.body == http1::framing::chunked) {
        out.add_chunk(step.data);
      } else {
        out.add(step.data);
      }
      may_continue_ = false;  // it does not wait, or not any more
    }
    if (step.done) {
      request_done_ = true;
      if (head_.body == http1::framing::chunked) out.add(http1::last_chunk);
    } else if (step.data.empty()) {
      return;
    }
  }
}

void exchange::request_body_broken() {
  ++owner_.counters.malformed;
  close_ = true;
  if (response_begun_) return cut();
  completed(400);
  fail(400, "the chunked body is malformed");
}

void exchange::request_sent() {
  request_sent_ = true;
  may_continue_ = false;
  if (!response_begun_) upstream_->set_deadline(owner_.options.response_timeout);
  watch_client();
}

void exchange::upstream_writable() {
  if (at_ == state::tunnel) {
    pump_tunnel_up();
  } else {
    pump_request();
  }
}

// --- trouble

// An upstream that refuses a body may close its reading side and still have answered: its answer is
// read before anything is called a failure.
void exchange::upstream_write_failed() {
  upload_over_ = true;
  if (upstream_written_ == 0 && retry(upstream_end::reset)) return;
  upstream_->out.clear();
  client_->in.consume(request_gathered_);
  request_gathered_ = 0;
  // While an answer is under way its own reads go on, and no other may disturb its buffer.
  if (response_begun_) return;
  upstream_->set_deadline(owner_.options.response_timeout);
  upstream_->read_more();
}

// What was taken out of the client's buffer cannot be sent again.
bool exchange::repeatable() const noexcept {
  return body_octets_ == 0 || upstream_written_ == 0;
}

// True when the request is on its way to another connection.
bool exchange::retry(upstream_end how) {
  if (attempts_ >= attempts_max || head_taken_ || interims_ > 0 || !upstream_->in.empty() ||
      !repeatable()) {
    return false;
  }
  const auto* target = &upstream_->target();
  const bool unsent = how == upstream_end::refused || upstream_written_ == 0;
  // A kept connection that ends without an octet was most likely closed before it saw the request.
  const bool stale = upstream_->reused() && idempotent(head_.method) && request_done_ &&
                     head_.body == http1::framing::none;
  if (how == upstream_end::refused ? owner_.upstreams.size() == 1
                                   : !(upstream_->reused() && (unsent || stale))) {
    return false;
  }
  ++owner_.counters.retries;
  auto& old = *std::exchange(upstream_, nullptr);
  old.close();
  rewind_request();
  connect(how == upstream_end::refused ? upstream_pool::kind::any : upstream_pool::kind::fresh,
          how == upstream_end::refused ? target : nullptr);
  return true;
}

void exchange::rewind_request() noexcept {
  upload_over_ = request_sent_ = false;
  request_gathered_ = 0;
  body_octets_ = 0;
  body_.start(head_.body, head_.content_length);
  request_done_ = head_.body == http1::framing::none ||
                  (head_.body == http1::framing::content_length && head_.content_length == 0);
}

void exchange::upstream_lost(upstream_end how) {
  if (at_ == state::tunnel) {
    upstream_ended_ = true;
    pump_tunnel_down();
    return;
  }
  if (how == upstream_end::closed && head_taken_ && response_body_.finish()) {
    if (client_framing_ == body_framing::chunked) to_client_.add(http1::last_chunk);
    response_done_ = true;
    pump_response();
    return;
  }
  if (response_begun_) {
    cut();
    return;
  }
  if (how == upstream_end::refused)
    owner_.upstreams.failed(upstream_->target(), net::loop::coarse_now());
  if (retry(how)) return;
  if (how != upstream_end::refused)
    owner_.upstreams.failed(upstream_->target(), net::loop::coarse_now());
  const bool connected = how != upstream_end::refused && how != upstream_end::untrusted;
  count_result(connected ? owner_.counters.upstream_broke_off : owner_.counters.upstream_refused);
  completed(502);
  switch (how) {
    case upstream_end::refused:
      return fail(502, "the upstream refuses connections");
    case upstream_end::untrusted:
      return fail(502, upstream_->stream.tls()->failure());
    case upstream_end::closed:
      return fail(502, "the upstream closed the connection without an answer");
    case upstream_end::reset:
      return fail(502, "the upstream reset the connection");
  }
}

void exchange::upstream_deadline() {
  if (at_ == state::connecting) {
    owner_.upstreams.failed(upstream_->target(), net::loop::coarse_now());
    if (retry(upstream_end::refused)) return;
    count_result(owner_.counters.upstream_timeouts);
    completed(504);
    return fail(504, "the upstream did not accept the connection in time");
  }
  if (may_continue_ && !response_begun_) {
    send_continue();
    return;
  }
  if (response_begun_) {
    cut();
    return;
  }
  owner_.upstreams.failed(upstream_->target(), net::loop::coarse_now());
  count_result(owner_.counters.upstream_timeouts);
  completed(504);
  fail(504, "the upstream did not answer in time");
}

}  // namespace penstock::gateway
