// The exchange towards its client: the upstream's head, interim responses, the body as it comes.
#include <charconv>

#include "base/ascii.hpp"
#include "gateway/client_connection.hpp"
#include "gateway/exchange.hpp"
#include "gateway/worker.hpp"
#include "net/http1_write.hpp"

namespace penstock::gateway {

namespace http1 = net::http1;

namespace {

constexpr std::uint32_t interims_max = 16;  // 1xx before a final response

// The length that a response without a body speaks of, if it does (HEAD, 304).
bool told_length(const http1::response_head& head, std::uint64_t& length) noexcept {
  for (const field& f : head.fields) {
    if (!ascii::iequals(f.name, "content-length")) continue;
    const auto [end, code] =
        std::from_chars(f.value.data(), f.value.data() + f.value.size(), length);
    return code == std::errc{} && end == f.value.data() + f.value.size();
  }
  return false;
}

bool has_upgrade(const http1::response_head& head) noexcept {
  for (const field& f : head.fields) {
    if (ascii::iequals(f.name, "upgrade") && !f.value.empty()) return true;
  }
  return false;
}

}  // namespace

void exchange::upstream_octets() {
  if (at_ == state::tunnel) {
    pump_tunnel_down();
  } else {
    pump_response();
  }
}

// Moves as much of the response as the client takes.
void exchange::pump_response() {
  for (;;) {
    if (!head_taken_) {
      if (!take_response_head()) return;
    } else if (!response_done_) {
      gather_response();
      if (at_ != state::forwarding) return;  // cut
    }
    switch (client_->flush()) {
      case client_connection::flushed::full:
        upstream_->clear_deadline();  // the client is what we wait for
        return;
      case client_connection::flushed::gone:
        client_left();
        return;
      case client_connection::flushed::sent:
        break;
    }
    upstream_->in.consume(std::exchange(response_gathered_, 0));
    if (response_done_) {
      response_finished();
      return;
    }
    if (head_taken_ && upstream_->in.empty()) {
      upstream_->set_deadline(owner_.options.response_timeout);
      upstream_->read_more();
      return;
    }
  }
}

// Takes one head out of what has come. False: nothing is to be written now.
bool exchange::take_response_head() {
  switch (response_parser_.parse(upstream_->in.view(), head_.method, response_)) {
    case http1::parse_status::need_more:
      upstream_->read_more();
      return false;
    case http1::parse_status::bad:
      count_result(owner_.counters.upstream_broke_off);
      owner_.upstreams.failed(upstream_->target(), net::loop::coarse_now());
      completed(502);
      fail(502, response_parser_.error().reason);
      return false;
    case http1::parse_status::complete:
      break;
  }
  if (response_.status < 200) return take_interim();
  take_final_head();
  return at_ == state::forwarding;  // the body that came with it may be broken
}

bool exchange::take_interim() {
  const bool unasked = response_.status == 101 && !(asks_upgrade_ && has_upgrade(response_));
  if (unasked || ++interims_ > interims_max) {
    count_result(owner_.counters.upstream_broke_off);
    completed(502);
    fail(502, unasked ? "the upstream switched protocols unasked"
                      : "the upstream sent too many interim responses");
    return false;
  }
  if (response_.status == 101) {
    begin_tunnel();
    return false;
  }
  // 100 answers an expectation; nobody else waits for one. 1.0 clients know no interim responses.
  const bool passes = response_.status == 100 ? may_continue_ : head_.version_minor >= 1;
  if (passes) {
    response_text_.clear();
    append_interim_response(response_, response_text_);
    to_client_.add(response_text_);
  }
  if (response_.status == 100 && may_continue_) {
    may_continue_ = false;
    if (!request_done_) upstream_->clear_deadline();
  }
  upstream_->in.consume(response_parser_.consumed());
  response_parser_.reset();
  return true;
}

void exchange::take_final_head() {
  head_taken_ = response_begun_ = true;
  may_continue_ = false;
  owner_.upstreams.succeeded(upstream_->target(), net::loop::coarse_now());
  context_.upstream_answered = true;
  count_result(owner_.counters.upstream_answered);
  completed(response_.status);
  status_ = response_.status;
  // The rest of the body is still read while the answer goes out, but nothing follows it.
  if (!request_done_ || owner_.draining()) close_ = true;

  response_facts facts{.client_minor = head_.version_minor,
                       .decision_fields = context_.decision.headers,
                       .date = owner_.date()};
  switch (response_.body) {
    case http1::framing::none:
      if (response_.status != 204 && told_length(response_, facts.length)) {
        facts.framing = body_framing::length_no_body;
      }
      break;
    case http1::framing::content_length:
      facts.framing = body_framing::length;
      facts.length = response_.content_length;
      break;
    case http1::framing::chunked:
    case http1::framing::until_close:
      facts.framing = head_.version_minor >= 1 ? body_framing::chunked : body_framing::until_close;
      if (head_.version_minor == 0) close_ = true;
      break;
  }
  facts.close = close_;
  client_framing_ = facts.framing;
  response_text_.clear();
  append_client_response(response_, facts, response_text_);
  to_client_.add(response_text_);
  upstream_->in.consume(response_parser_.consumed());
  response_body_.start(response_.body, response_.content_length);
  response_done_ = response_.body == http1::framing::none;
  if (!response_done_) gather_response();
}

void exchange::gather_response() {
  const std::string_view window = upstream_->in.view();
  while (!response_done_ && to_client_.room() >= 4) {
    const auto step = response_body_.next(window.substr(response_gathered_));
    response_gathered_ += step.consumed;
    if (step.bad) return cut();
    if (!step.data.empty()) {
      if (client_framing_ == body_framing::chunked) {
        to_client_.add_chunk(step.data);
      } else {
        to_client_.add(step.data);
      }
    }
    if (step.done) {
      response_done_ = true;
      if (client_framing_ == body_framing::chunked) to_client_.add(http1::last_chunk);
    } else if (step.data.empty()) {
      return;
    }
  }
}

// The answer is with the client. The upstream's connection may serve again only if both sides agree
// where this exchange ended: request sent in full, answer delimited, not an octet more.
void exchange::response_finished() {
  const bool clean = request_sent_ && !upload_over_ && response_.keep_alive &&
                     response_.body != http1::framing::until_close && upstream_->in.empty();
  leave_upstream(clean);
  over(true);
}

// The upstream does not say whether it wants the body; the client must not wait for ever.
void exchange::send_continue() {
  may_continue_ = false;
  upstream_->clear_deadline();
  to_client_.add("HTTP/1.1 100 Continue\r\n\r\n");
  if (client_->flush() == client_connection::flushed::gone) client_left();
}

}  // namespace penstock::gateway
