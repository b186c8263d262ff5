#include "gateway/upstream_connection.hpp"

#include <boost/asio/error.hpp>
#include <sys/socket.h>

#include "gateway/exchange.hpp"
#include "gateway/worker.hpp"

namespace penstock::gateway {

namespace {
// A response of 16 KiB arrives with its head in one read.
constexpr std::size_t first_block = 32U << 10U;
}  // namespace

upstream_connection::upstream_connection(worker& owner, upstream_target& target)
    : loop_object(owner.dead),
      stream(owner.loop.context()),
      in(owner.buffers),
      owner_(owner),
      target_(target),
      deadline_(&upstream_connection::on_deadline, this) {
  ++owner_.counters.upstream_connections;
}

upstream_connection::~upstream_connection() {
  --owner_.counters.upstream_connections;
}

void upstream_connection::connect(exchange& user) {
  user_ = &user;
  set_deadline(owner_.options.connect_timeout);
  began();
  stream.connect<&upstream_connection::on_connect>(this, target_.where);
}

void upstream_connection::on_connect(const boost::system::error_code& failed) {
  if (!ended()) return;
  if (failed) {
    user_->upstream_lost(upstream_end::refused);
    return;
  }
  if (target_.where.protocol().family() != AF_UNIX) stream.no_delay();
  if (target_.tls) {
    stream.use_tls(*target_.tls, net::tls_session::host_name{target_.tls_host});
    began();
    stream.handshake<&upstream_connection::on_handshake>(this);
    return;
  }
  user_->upstream_connected();
}

void upstream_connection::on_handshake(const boost::system::error_code& failed) {
  if (!ended()) return;
  if (failed) {
    user_->upstream_lost(upstream_end::untrusted);
  } else {
    user_->upstream_connected();
  }
}

void upstream_connection::reuse(exchange& user) noexcept {
  user_ = &user;
  reused_ = true;
}

void upstream_connection::keep() {
  user_ = nullptr;
  set_deadline(owner_.options.kept_upstream_timeout);
  read_more();
}

void upstream_connection::close() {
  if (is_closed()) return;
  user_ = nullptr;
  owner_.loop.disarm(deadline_);
  stream.close();
  mark_closed();
}

void upstream_connection::read_more() {
  if (reading_) return;
  in.rewind();
  if (in.room() == 0) in.reserve(in.capacity() == 0 ? first_block : in.size() * 2);
  reading_ = true;
  began();
  stream.read<&upstream_connection::on_read>(this, in.back(), in.room());
}

void upstream_connection::on_read(const boost::system::error_code& failed, std::size_t octets) {
  reading_ = false;
  if (!ended()) return;
  in.commit(octets);
  if (user_ == nullptr) {
    owner_.upstreams.forget(*this);
    close();
  } else if (failed) {
    user_->upstream_lost(failed == boost::asio::error::eof ? upstream_end::closed
                                                           : upstream_end::reset);
  } else {
    user_->upstream_octets();
  }
}

void upstream_connection::wait_writable() {
  if (waiting_) return;
  waiting_ = true;
  began();
  stream.wait_writable<&upstream_connection::on_writable>(this);
}

void upstream_connection::on_writable(const boost::system::error_code&) {
  waiting_ = false;
  // A failed connection is found out by the write that follows.
  if (ended() && user_ != nullptr) user_->upstream_writable();
}

void upstream_connection::set_deadline(std::chrono::milliseconds from_now) {
  owner_.loop.arm(deadline_, net::loop::coarse_now() + from_now.count());
}

void upstream_connection::clear_deadline() noexcept {
  owner_.loop.disarm(deadline_);
}

void upstream_connection::on_deadline(net::timer_wheel::entry& e) {
  auto& self = *static_cast<upstream_connection*>(e.owner);
  if (self.user_ != nullptr) {
    self.user_->upstream_deadline();
    return;
  }
  self.owner_.upstreams.forget(self);
  self.close();
}

}  // namespace penstock::gateway
