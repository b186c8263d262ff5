// One client: reads heads, hands each request to an exchange, keeps the connection for the next
// one, and ends it properly. At most one exchange at a time; pipelined requests wait in the buffer.
// While idle it holds its socket and one small buffer and nothing else. Lives on one loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gateway/loop_object.hpp"
#include "net/buffer_pool.hpp"
#include "net/stream.hpp"
#include "net/timer_wheel.hpp"
#include "policy/address.hpp"

namespace penstock::gateway {

class exchange;
class worker;

class client_connection final : public loop_object {
 public:
  client_connection(worker& owner, net::stream_socket socket, const policy::address& peer);
  ~client_connection() override;

  void start();

  // The worker is about to stop: a busy client is closed after its answer, an idle one soon if the
  // worker closes those.
  void drain();
  // Ends it now. `how`: a reset tells the client that what it has is not complete.
  enum class ending : std::uint8_t { close, reset };
  void end(ending how);

  // --- for the exchange under way

  // Reads further octets into `in`; reports client_octets or client_left. No effect while a read
  // is armed or when there is no room.
  enum class room : std::uint8_t { small, large };
  void read_more(room wanted);
  // Writes what the exchange has queued. `sent`: all of it. `full`: client_drained follows.
  // `gone`: the client is not there any more.
  enum class flushed : std::uint8_t { sent, full, gone };
  flushed flush();
  // Octets of the body are what is waited for; the client's time for it runs …
  void expect_body();
  // … but not while it is the upstream that takes none.
  void pause_body() noexcept;
  // The exchange is over; it must not touch anything afterwards.
  enum class then : std::uint8_t { keep, linger, close, reset };
  void exchange_over(then what);
  // Something moved in a tunnel.
  void tunnel_moved() noexcept;

  [[nodiscard]] const policy::address& peer() const noexcept { return peer_; }
  [[nodiscard]] std::string_view peer_text() const noexcept { return peer_text_; }

  net::stream stream;
  net::buffer in;  // what was received and not yet dealt with

 private:
  friend class worker;

  enum class phase : std::uint8_t { handshaking, waiting, busy, lingering };

  // Nothing of a request has come.
  [[nodiscard]] bool idle() const noexcept {
    return phase_ == phase::waiting && !exchange_ && !proxy_header_due_ && in.empty();
  }
  void advance();
  bool step();
  bool take_proxy_header();
  void split_head();
  void begin_handshake();
  void on_handshake(const boost::system::error_code& failed);
  void linger();
  void update_deadline();
  void on_read(const boost::system::error_code& failed, std::size_t octets);
  void on_writable(const boost::system::error_code& failed);
  static void on_deadline(net::timer_wheel::entry& e);
  [[nodiscard]] net::timer_wheel::milliseconds due() const noexcept;
  void deadline_reached();

  worker& owner_;
  client_connection* next_ = nullptr;  // of the worker's list
  client_connection** previous_ = nullptr;
  client_connection* next_handshake_ = nullptr;  // of the worker's list, oldest first
  client_connection* previous_handshake_ = nullptr;
  policy::address peer_;
  std::string peer_text_;
  net::buffer held_;  // the block that holds the head of the request under way
  std::unique_ptr<exchange> exchange_;
  net::timer_wheel::entry deadline_;
  net::timer_wheel::milliseconds since_ = 0;        // when the present wait began
  net::timer_wheel::milliseconds blocked_ = 0;      // when the client stopped reading; 0: it reads
  net::timer_wheel::milliseconds body_paused_ = 0;  // since when; 0: it is not
  std::size_t sent_since_ = 0;                      // octets written since `blocked_`
  std::size_t lingered_ = 0;                        // octets dropped
  phase phase_ = phase::waiting;
  bool reading_ = false;
  bool filled_ = false;  // the last read took all the room there was
  bool write_waiting_ = false;
  bool advancing_ = false;
  bool again_ = false;
  bool cancelling_ = false;
  bool body_expected_ = false;
  bool tunnel_ = false;
  bool proxy_header_due_ = false;
  bool handshake_due_ = false;
};

}  // namespace penstock::gateway
