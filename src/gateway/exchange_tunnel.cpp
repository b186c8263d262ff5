// After the upstream's 101 for an upgrade that this client asked for: octets in both directions,
// nothing understood, each side's end passed on.
#include "gateway/client_connection.hpp"
#include "gateway/exchange.hpp"
#include "gateway/worker.hpp"

namespace penstock::gateway {

void exchange::begin_tunnel() {
  at_ = state::tunnel;
  response_begun_ = true;
  close_ = true;
  owner_.upstreams.succeeded(upstream_->target(), net::loop::coarse_now());
  count_result(owner_.counters.upstream_answered);
  completed(101);
  status_ = 101;
  upstream_->clear_deadline();
  response_text_.clear();
  append_client_response(response_,
                         {.client_minor = head_.version_minor,
                          .upgrade = true,
                          .decision_fields = context_.decision.headers,
                          .date = owner_.date()},
                         response_text_);
  upstream_->in.consume(response_parser_.consumed());
  to_client_.add(response_text_);
  client_->tunnel_moved();
  pump_tunnel_down();
  if (at_ == state::tunnel) pump_tunnel_up();
}

void exchange::pump_tunnel_down() {
  for (;;) {
    if (response_gathered_ == 0 && !upstream_->in.empty()) {
      to_client_.add(upstream_->in.view());
      response_gathered_ = upstream_->in.size();
    }
    switch (client_->flush()) {
      case client_connection::flushed::full:
        return;
      case client_connection::flushed::gone:
        over(false);
        return;
      case client_connection::flushed::sent:
        break;
    }
    client_->tunnel_moved();
    upstream_->in.consume(std::exchange(response_gathered_, 0));
    if (upstream_->in.empty()) break;
  }
  if (!upstream_ended_) {
    upstream_->read_more();
    return;
  }
  if (client_ended_) {
    over(false);
    return;
  }
  client_->stream.shutdown_write();
}

void exchange::pump_tunnel_up() {
  for (;;) {
    if (request_gathered_ == 0 && !client_->in.empty()) {
      upstream_->out.add(client_->in.view());
      request_gathered_ = client_->in.size();
    }
    switch (upstream_->out.flush(upstream_->stream, upstream_written_)) {
      case net::write_queue::state::full:
        upstream_->wait_writable();
        return;
      case net::write_queue::state::failed:
        over(false);
        return;
      case net::write_queue::state::sent:
        break;
    }
    client_->tunnel_moved();
    client_->in.consume(std::exchange(request_gathered_, 0));
    if (client_->in.empty()) break;
  }
  if (!client_ended_) {
    client_->read_more(client_connection::room::small);
    return;
  }
  if (upstream_ended_) {
    over(false);
    return;
  }
  upstream_->stream.shutdown_write();
}

}  // namespace penstock::gateway
