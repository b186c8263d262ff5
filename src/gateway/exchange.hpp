// One request's life: head, decision, delay, upstream, answer. It owns nothing that reads or
// writes; the client connection and the upstream connection call it when something has happened,
// and it says what is next. Taken from its loop's pool for a request and given back after it, so
// its strings and vectors keep their memory.
//
// Bounded by construction: octets move only from a connection's one block to the other's socket,
// and no read is made before what was read has been written.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/cell.hpp"
#include "gateway/head_rewriter.hpp"
#include "gateway/upstream_connection.hpp"
#include "net/http1.hpp"
#include "net/timer_wheel.hpp"
#include "net/write_queue.hpp"
#include "service/decider.hpp"

namespace penstock::gateway {

class client_connection;
class worker;

enum class upstream_end : std::uint8_t { refused, untrusted, closed, reset };

class exchange {
 public:
  explicit exchange(worker& owner);
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;
  ~exchange();

  void open(client_connection& client);
  void clear() noexcept;  // for the pool

  // --- from the client connection

  net::http1::parse_status parse(std::string_view received) {
    return parser_.parse(received, head_);
  }
  void parse_again() noexcept { parser_.reset(); }
  [[nodiscard]] std::size_t head_size() const noexcept { return parser_.consumed(); }

  void begin();          // the head is complete
  void malformed();      // it never will be
  void head_too_slow();  // 408
  void body_too_slow();
  void client_too_slow();  // it does not read its answer
  void client_octets();    // more of the body, or a pipelined request
  void client_left();
  void client_drained();  // all that was queued is written
  void abandon();         // the connection is closed under us

  [[nodiscard]] net::write_queue& to_client() noexcept { return to_client_; }
  [[nodiscard]] bool waits_for_body() const noexcept {
    return at_ == state::forwarding && !request_done_;
  }
  // Octets that the client's socket took.
  void count_sent(std::size_t octets) noexcept { sent_octets_ += octets; }
  [[nodiscard]] std::uint64_t body_octets() const noexcept { return body_octets_; }

  // --- from the upstream connection

  void upstream_connected();
  void upstream_octets();
  void upstream_writable();
  void upstream_lost(upstream_end how);
  void upstream_deadline();

 private:
  enum class state : std::uint8_t {
    reading_head,
    deciding,
    delayed,
    connecting,
    forwarding,
    answering,  // an answer of our own is on its way
    tunnel,
    over
  };

  // exchange.cpp: decision, own answers, end
  static void on_decided(service::exchange_context& context);
  static void on_delay_over(net::timer_wheel::entry& e);
  void decided();
  void watch_client();
  void refuse();
  void fail(int status, std::string_view reason);
  void answer(local_answer& what);  // fills in what all answers share
  void answer_written();
  void skip_buffered_body();
  void leave_upstream(bool clean);
  void count_result(cell& of) noexcept;
  void withdraw_decision();
  void completed(int status);
  void over(bool client_usable);
  void cut();
  void account(bool complete);
  void log(bool complete);

  // exchange_request.cpp: towards the upstream
  void forward();
  void connect(upstream_pool::kind want, const upstream_target* avoid);
  void send_request();
  void pump_request();
  void gather_request();
  void request_body_broken();
  void request_sent();
  void upstream_write_failed();
  bool retry(upstream_end how);
  [[nodiscard]] bool repeatable() const noexcept;
  void rewind_request() noexcept;

  // exchange_response.cpp: towards the client
  void pump_response();
  bool take_response_head();
  bool take_interim();
  void take_final_head();
  void gather_response();
  void response_finished();
  void send_continue();

  // exchange_tunnel.cpp: after 101
  void begin_tunnel();
  void pump_tunnel_up();
  void pump_tunnel_down();

  worker& owner_;
  client_connection* client_ = nullptr;
  upstream_connection* upstream_ = nullptr;
  state at_ = state::reading_head;

  net::http1::request_parser parser_;
  net::http1::request_head head_;
  net::http1::body_reader body_;
  net::http1::response_parser response_parser_;
  net::http1::response_head response_;
  net::http1::body_reader response_body_;
  service::exchange_context context_;
  net::timer_wheel::entry delay_;
  net::write_queue to_client_;
  std::string request_text_;   // head for the upstream
  std::string response_text_;  // head for the client, or a whole answer of our own
  std::string client_text_;    // the client's address where it is not the peer

  const upstream_target* asked_ = nullptr;  // the last upstream; for the log
  instant began_{};                         // only while the access log is on
  std::uint64_t sent_octets_ = 0;           // to the client
  int status_ = 0;                          // of the answer; 0: none yet
  std::uint64_t body_octets_ = 0;           // content taken from the client
  std::size_t request_gathered_ = 0;        // octets of client.in that wait in the upstream's queue
  std::size_t response_gathered_ = 0;       // the same of upstream.in
  std::size_t upstream_written_ = 0;  // octets of this request that the upstream's socket took
  std::uint32_t attempts_ = 0;
  std::uint32_t interims_ = 0;
  body_framing client_framing_ = body_framing::none;
  bool head_complete_ = false;  // head_ may be read
  bool decided_ = false;        // context_ holds this request's decision
  bool accounted_ = false;
  bool close_ = false;         // the client's connection ends after this
  bool request_done_ = false;  // all of the body was taken
  bool request_sent_ = false;  // and written to the upstream
  bool upload_over_ = false;   // the upstream takes no more, but may have answered
  bool counted_ = false;       // in in_flight
  bool result_known_ = false;  // and in one of the results
  bool told_ = false;          // completed() was called
  bool asks_upgrade_ = false;
  bool may_continue_ = false;    // the client waits for 100
  bool head_taken_ = false;      // the upstream's final head was read
  bool response_begun_ = false;  // … and the client's head is on its way
  bool response_done_ = false;
  bool client_ended_ = false;    // tunnel: no more from the client
  bool upstream_ended_ = false;  // tunnel: no more from the upstream
};

}  // namespace penstock::gateway
