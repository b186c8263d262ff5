#include "store/redis/wire.hpp"

#include <algorithm>
#include <cstring>

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace penstock::store::redis {
namespace {

using boost::system::error_code;
using generic_endpoint = boost::asio::generic::stream_protocol::endpoint;

constexpr std::size_t first_buffer = std::size_t{16} << 10U;
constexpr std::size_t largest_buffer = std::size_t{4} << 20U;
constexpr int dead_after_ms = 2'000;  // unacknowledged octets: the peer is gone

}  // namespace

wire::wire(boost::asio::io_context& context, user& to, wire_target target)
    : context_(context),
      user_(&to),
      target_(std::move(target)),
      stream_(context),
      resolver_(context),
      in_(first_buffer) {}

std::shared_ptr<wire> wire::open(boost::asio::io_context& context, user& to,
                                 const wire_target& target) {
  auto made = std::make_shared<wire>(context, to, target);
  // Never a callback before the caller holds the connection.
  boost::asio::post(context, [made] { made->start(); });
  return made;
}

void wire::start() {
  if (user_ == nullptr) return;
  if (!target_.unix_path.empty()) {
    endpoints_.emplace_back(boost::asio::local::stream_protocol::endpoint(target_.unix_path));
    connect_next();
    return;
  }
  error_code no_address;
  const auto address = boost::asio::ip::make_address(target_.at.host, no_address);
  if (no_address) {
    resolve();
    return;
  }
  endpoints_.emplace_back(boost::asio::ip::tcp::endpoint(address, target_.at.port));
  connect_next();
}

void wire::resolve() {
  resolver_.async_resolve(
      target_.at.host, std::to_string(target_.at.port),
      [self = shared_from_this()](const error_code& failed,
                                  const boost::asio::ip::tcp::resolver::results_type& found) {
        if (self->user_ == nullptr) return;
        if (failed) {
          self->fail("name not resolved: " + failed.message());
          return;
        }
        for (const auto& entry : found) self->endpoints_.emplace_back(entry.endpoint());
        self->connect_next();
      });
}

void wire::connect_next() {
  const generic_endpoint& to = endpoints_[next_endpoint_++];
  stream_.close();
  stream_.socket().async_connect(to, [self = shared_from_this()](const error_code& failed) {
    if (self->user_ == nullptr) return;
    if (!failed) {
      self->connected();
    } else if (self->next_endpoint_ < self->endpoints_.size()) {
      self->connect_next();
    } else {
      self->fail("cannot connect: " + failed.message());
    }
  });
}

void wire::connected() {
  stream_.no_delay();
  // Fails on unix sockets, where the kernel knows at once that the peer is gone.
  (void)::setsockopt(stream_.socket().native_handle(), IPPROTO_TCP, TCP_USER_TIMEOUT,
                     &dead_after_ms, sizeof(dead_after_ms));
  if (target_.tls == nullptr) {
    open_ = true;
    read();
    user_->opened();
    flush();
    return;
  }
  tls_ = std::make_unique<tls_session>(*target_.tls, target_.at.host);
  if (!tls_->start(sending_)) {
    fail(tls_->problem());
    return;
  }
  read();
  write();
}

void wire::read() {
  if (consumed_ > 0) {
    std::memmove(in_.data(), in_.data() + consumed_, filled_ - consumed_);
    filled_ -= consumed_;
    consumed_ = 0;
  }
  if (filled_ == in_.size()) {
    if (in_.size() >= largest_buffer) {
      fail("an answer is too long");
      return;
    }
    in_.resize(in_.size() * 2);
  }
  stream_.socket().async_read_some(
      boost::asio::buffer(in_.data() + filled_, in_.size() - filled_),
      [self = shared_from_this()](const error_code& failed, std::size_t octets) {
        if (self->user_ == nullptr) return;
        if (failed) {
          self->fail(failed == boost::asio::error::eof ? "closed by the server" : failed.message());
          return;
        }
        self->got(octets);
      });
}

void wire::got(std::size_t octets) {
  filled_ += octets;
  if (tls_ != nullptr) {
    const bool going =
        tls_->receive({in_.data() + consumed_, filled_ - consumed_}, plain_, sending_);
    consumed_ = filled_;
    if (!going) {
      fail(tls_->problem());
      return;
    }
    write();
    if (user_ == nullptr) return;
    if (tls_->established() && !open_) {
      open_ = true;
      user_->opened();
      flush();
    }
  }
  if (open_ && user_ != nullptr) deliver();
  if (user_ != nullptr) read();
}

void wire::deliver() {
  if (tls_ != nullptr) {
    const std::size_t used = user_->received(plain_);
    plain_.erase(0, used);
    return;
  }
  consumed_ += user_->received({in_.data() + consumed_, filled_ - consumed_});
}

void wire::flush_soon() {
  if (flush_posted_ || waiting_writable_ || !open_) return;
  flush_posted_ = true;
  boost::asio::post(context_, [self = shared_from_this()] {
    self->flush_posted_ = false;
    if (self->user_ != nullptr) self->flush();
  });
}

void wire::flush() {
  if (!open_ || waiting_writable_ || user_ == nullptr || out_.empty()) return;
  if (tls_ != nullptr) {
    const bool going = tls_->send(out_, sending_);
    out_.clear();
    if (!going) {
      fail(tls_->problem());
      return;
    }
  } else {
    out_.swap(sending_);  // sending_ is empty here: it is what waiting_writable_ waits for
  }
  write();
}

void wire::write() {
  if (waiting_writable_) return;
  while (sent_ < sending_.size()) {
    const iovec piece{sending_.data() + sent_, sending_.size() - sent_};
    const net::write_outcome done = stream_.write(&piece, 1);
    sent_ += done.octets;
    if (done.failed) {
      fail("the connection broke while sending");
      return;
    }
    if (!done.full) continue;
    waiting_writable_ = true;
    stream_.socket().async_wait(net::stream_socket::wait_write,
                                [self = shared_from_this()](const error_code& failed) {
                                  self->waiting_writable_ = false;
                                  if (self->user_ == nullptr) return;
                                  if (failed) {
                                    self->fail(failed.message());
                                    return;
                                  }
                                  self->write();
                                  self->flush();
                                });
    return;
  }
  sending_.clear();
  sent_ = 0;
}

void wire::drop() noexcept {
  user_ = nullptr;
  resolver_.cancel();
  stream_.close();
}

void wire::fail(std::string_view why) {
  user* const told = user_;
  if (told == nullptr) return;
  const std::string reason(why);
  drop();
  told->closed(reason);
}

}  // namespace penstock::store::redis
