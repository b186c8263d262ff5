#include "gateway/client_connection.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gateway/exchange.hpp"
#include "gateway/worker.hpp"
#include "net/proxy_protocol.hpp"

namespace penstock::gateway {

namespace {
constexpr std::size_t small_block = net::buffer_pool::smallest;
constexpr std::size_t medium_block = 16U << 10U;  // where a small one was filled
constexpr std::size_t large_block = net::buffer_pool::largest;
constexpr net::timer_wheel::milliseconds never = net::timer_wheel::never_due;
constexpr std::chrono::milliseconds drain_idle_ms{1'000};
}  // namespace

client_connection::client_connection(worker& owner, net::stream_socket socket,
                                     const policy::address& peer)
    : loop_object(owner.dead),
      stream(std::move(socket)),
      in(owner.buffers),
      owner_(owner),
      peer_(peer),
      peer_text_(peer.to_string()),
      held_(owner.buffers),
      deadline_(&client_connection::on_deadline, this) {
  owner_.client_opened(*this);
}

client_connection::~client_connection() {
  if (exchange_) owner_.give_exchange(std::move(exchange_));
}

void client_connection::start() {
  since_ = net::loop::coarse_now();
  const auto& believed = owner_.options.proxy_protocol_from;
  proxy_header_due_ = believed && believed(peer_);
  handshake_due_ = owner_.tls != nullptr;
  advance();
}

// --- reading

void client_connection::read_more(room wanted) {
  if (reading_ || is_closed()) return;
  in.rewind();
  if (in.empty()) {
    const std::size_t size = wanted == room::large ? large_block
                             : filled_             ? medium_block
                                                   : small_block;
    if (in.capacity() < size) {
      in.reserve(size);
    } else if (wanted == room::small && in.capacity() > size) {
      in.release();
      in.reserve(size);
    }
  } else if (in.room() == 0) {
    if (in.size() >= large_block) return;
    in.reserve(in.size() < in.capacity() ? in.capacity() : in.size() * 2);
  }
  reading_ = true;
  began();
  stream.read<&client_connection::on_read>(this, in.back(), in.room());
}

void client_connection::on_read(const boost::system::error_code& failed, std::size_t octets) {
  reading_ = false;
  if (!ended()) return;
  filled_ = octets == in.room();
  in.commit(octets);
  if (std::exchange(cancelling_, false) && failed == boost::asio::error::operation_aborted) {
    advance();
    return;
  }
  switch (phase_) {
    case phase::handshaking:
      return;  // nothing reads but the handshake
    case phase::waiting:
      if (failed) {
        end(ending::close);
      } else {
        advance();
      }
      return;
    case phase::busy:
      if (failed) {
        exchange_->client_left();
      } else {
        exchange_->client_octets();
      }
      return;
    case phase::lingering:
      lingered_ += in.size();
      in.consume(in.size());
      if (failed || lingered_ > owner_.options.linger_max) {
        end(ending::close);
      } else {
        read_more(room::small);
      }
      return;
  }
}

// Deals with requests until one has to wait. A loop, not recursion: a client may pipeline
// thousands.
void client_connection::advance() {
  again_ = true;
  if (std::exchange(advancing_, true)) return;
  while (std::exchange(again_, false) && phase_ == phase::waiting && !is_closed()) {
    if (!step()) break;
  }
  advancing_ = false;
}

// False: it is not complete yet, or the connection was closed because it never will be.
bool client_connection::take_proxy_header() {
  const auto header = net::proxy_protocol::parse(in.view());
  switch (header.status) {
    case net::proxy_protocol::parse_status::need_more:
      update_deadline();
      read_more(room::small);
      return false;
    case net::proxy_protocol::parse_status::bad:
      ++owner_.counters.malformed;
      end(ending::close);
      return false;
    case net::proxy_protocol::parse_status::complete:
      break;
  }
  proxy_header_due_ = false;
  in.consume(header.consumed);
  if (header.source.size == 0) return true;
  const auto& octets = header.source.octets;
  peer_ = header.source.size == 4
              ? policy::address::v4({octets[0], octets[1], octets[2], octets[3]})
              : policy::address::v6(octets);
  peer_text_ = peer_.to_string();
  return true;
}

// Parses what has come. False: more octets are needed, and asked for.
bool client_connection::step() {
  if (proxy_header_due_ && !take_proxy_header()) return false;
  if (handshake_due_) {
    begin_handshake();
    return false;
  }
  if (in.empty() && !exchange_) {
    since_ = net::loop::coarse_now();
    update_deadline();
    read_more(room::small);
    return false;
  }
  if (!exchange_) {
    exchange_ = owner_.take_exchange(*this);
    since_ = net::loop::coarse_now();
  }
  switch (exchange_->parse(in.view())) {
    case net::http1::parse_status::need_more:
      update_deadline();
      read_more(room::small);
      return false;
    case net::http1::parse_status::bad:
      phase_ = phase::busy;
      exchange_->malformed();
      return true;
    case net::http1::parse_status::complete:
      break;
  }
  if (reading_) {
    // The read into the block that is about to be held must come back first.
    cancelling_ = true;
    stream.cancel();
    exchange_->parse_again();
    return false;
  }
  split_head();
  phase_ = phase::busy;
  body_expected_ = false;
  exchange_->begin();
  return true;
}

void client_connection::begin_handshake() {
  handshake_due_ = false;
  phase_ = phase::handshaking;
  since_ = net::loop::coarse_now();
  stream.use_tls(*owner_.tls, in.view());
  in.release();
  update_deadline();
  owner_.handshake_began(*this);
  began();
  stream.handshake<&client_connection::on_handshake>(this);
}

void client_connection::on_handshake(const boost::system::error_code& failed) {
  if (!ended()) return;
  if (failed) {
    ++owner_.counters.handshakes_failed;
    end(ending::close);
    return;
  }
  owner_.handshake_over(*this);
  phase_ = phase::waiting;
  advance();
}

// The head stays where it is, because views point into it; what follows it moves to a new block.
void client_connection::split_head() {
  const std::string_view rest = in.view().substr(exchange_->head_size());
  net::buffer fresh(owner_.buffers);
  if (!rest.empty()) {
    fresh.reserve(std::max(rest.size(), small_block));
    std::memcpy(fresh.back(), rest.data(), rest.size());
    fresh.commit(rest.size());
  }
  held_.swap(in);
  in.swap(fresh);
}

// --- writing

client_connection::flushed client_connection::flush() {
  std::size_t sent = 0;
  const auto state = exchange_->to_client().flush(stream, sent);
  sent_since_ += sent;
  exchange_->count_sent(sent);
  switch (state) {
    case net::write_queue::state::sent:
      if (blocked_ != 0) {
        blocked_ = 0;
        update_deadline();
      }
      return flushed::sent;
    case net::write_queue::state::full:
      break;
    case net::write_queue::state::failed:
      return flushed::gone;
  }
  if (blocked_ == 0) {
    blocked_ = net::loop::coarse_now();
    sent_since_ = 0;
    update_deadline();
  }
  if (!std::exchange(write_waiting_, true)) {
    began();
    stream.wait_writable<&client_connection::on_writable>(this);
  }
  return flushed::full;
}

void client_connection::on_writable(const boost::system::error_code&) {
  write_waiting_ = false;
  if (!ended() || phase_ != phase::busy) return;
  // A failed connection is found out by the write.
  switch (flush()) {
    case flushed::sent:
      exchange_->client_drained();
      return;
    case flushed::full:
      return;
    case flushed::gone:
      exchange_->client_left();
      return;
  }
}

// --- ending

void client_connection::exchange_over(then what) {
  owner_.give_exchange(std::move(exchange_));
  held_.release();
  blocked_ = 0;
  tunnel_ = false;
  body_expected_ = false;
  body_paused_ = 0;
  switch (what) {
    case then::keep:
      phase_ = phase::waiting;
      filled_ = false;
      if (!reading_ && in.empty() && in.capacity() > small_block) in.release();
      advance();
      return;
    case then::linger:
      linger();
      return;
    case then::close:
      end(ending::close);
      return;
    case then::reset:
      end(ending::reset);
      return;
  }
}

// Closing while octets are unread would reset the connection, and the reset may overtake our
// answer.
void client_connection::linger() {
  phase_ = phase::lingering;
  stream.shutdown_write();
  in.consume(in.size());
  since_ = net::loop::coarse_now();
  lingered_ = 0;
  update_deadline();
  read_more(room::small);
}

void client_connection::end(ending how) {
  if (is_closed()) return;
  if (exchange_) exchange_->abandon();
  if (phase_ == phase::handshaking) owner_.handshake_over(*this);
  owner_.loop.disarm(deadline_);
  if (how == ending::reset) {
    stream.reset();
  } else {
    stream.close();
  }
  owner_.client_closed(*this);
  mark_closed();
}

void client_connection::drain() {
  if (phase_ == phase::waiting && owner_.closes_idle()) {
    since_ = std::max(since_, net::loop::coarse_now() - owner_.options.idle_timeout.count());
    update_deadline();
  }
}

// --- deadlines

void client_connection::expect_body() {
  if (!body_expected_) {
    body_expected_ = true;
    since_ = net::loop::coarse_now();
  } else if (body_paused_ != 0) {
    since_ += net::loop::coarse_now() - body_paused_;
  }
  body_paused_ = 0;
  if (!deadline_.armed() || deadline_.deadline() > due()) update_deadline();
}

void client_connection::pause_body() noexcept {
  if (body_paused_ == 0) body_paused_ = net::loop::coarse_now();
}

void client_connection::tunnel_moved() noexcept {
  since_ = net::loop::coarse_now();
  if (!std::exchange(tunnel_, true)) update_deadline();
}

// The deadline of what the connection waits for now. Computed anew when the timer fires, so that
// progress costs nothing.
net::timer_wheel::milliseconds client_connection::due() const noexcept {
  const auto& options = owner_.options;
  if (blocked_ != 0) {
    return blocked_ + options.write_grace.count() +
           static_cast<std::int64_t>(sent_since_ * 1000 / options.write_rate_min);
  }
  switch (phase_) {
    case phase::handshaking:
      return since_ + options.handshake_timeout.count();
    case phase::waiting:
      if (exchange_ || proxy_header_due_) return since_ + options.head_timeout.count();
      return since_ + (owner_.closes_idle() ? std::min(drain_idle_ms, options.idle_timeout).count()
                                            : options.idle_timeout.count());
    case phase::busy:
      if (tunnel_) return since_ + options.tunnel_timeout.count();
      if (!body_expected_ || body_paused_ != 0 || !exchange_->waits_for_body()) return never;
      return since_ + options.body_grace.count() +
             static_cast<std::int64_t>(exchange_->body_octets() * 1000 / options.body_rate_min);
    case phase::lingering:
      return since_ + options.linger_timeout.count();
  }
  return never;
}

void client_connection::update_deadline() {
  const auto at = due();
  if (at == never) {
    owner_.loop.disarm(deadline_);
  } else {
    owner_.loop.arm(deadline_, at);
  }
}

void client_connection::on_deadline(net::timer_wheel::entry& e) {
  auto& self = *static_cast<client_connection*>(e.owner);
  const auto at = self.due();
  if (at > net::loop::exact_now()) {
    if (at != never) self.owner_.loop.arm(e, at);
    return;
  }
  self.deadline_reached();
}

void client_connection::deadline_reached() {
  if (blocked_ != 0) {
    ++owner_.counters.clients_cut;
    exchange_->client_too_slow();
    return;
  }
  switch (phase_) {
    case phase::handshaking:
      ++owner_.counters.handshakes_failed;
      end(ending::close);
      return;
    case phase::waiting:
      if (!exchange_) {
        end(ending::close);
        return;
      }
      ++owner_.counters.clients_cut;
      phase_ = phase::busy;
      exchange_->head_too_slow();
      return;
    case phase::busy:
      ++owner_.counters.clients_cut;
      exchange_->body_too_slow();
      return;
    case phase::lingering:
      end(ending::close);
      return;
  }
}

}  // namespace penstock::gateway
