// One client of http_server. Internal to it. The object outlives its connection: it is opened again
// for another client once its last operation has come back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "net/http_server.hpp"
#include "net/stream.hpp"
#include "net/timer_wheel.hpp"

namespace penstock::net {

class http_connection final : public http_exchange {
 public:
  explicit http_connection(http_server& owner);

  void open(stream_socket socket, const peer_address& peer);
  // Idle: closes. Busy: closes after the answer that is due.
  void drain();
  void end();
  [[nodiscard]] bool is_open() const noexcept { return phase_ != phase::closed; }

  [[nodiscard]] const http1::request_head& head() const noexcept override { return head_; }
  [[nodiscard]] std::string_view body() const noexcept override { return body_view_; }
  [[nodiscard]] const peer_address& peer() const noexcept override { return peer_; }
  void answer(int status, std::string_view content_type, std::string_view content,
              std::string_view fields) override;
  void close_after() noexcept override { keep_ = false; }

 private:
  enum class phase : std::uint8_t {
    closed,
    handshake,  // TLS is being agreed upon
    head,       // between requests, or a head is coming in
    body,       // a body is coming in that was not there with its head
    answering,  // the handler owes an answer
    lingering   // the answer is out; waits for the client to close
  };

  [[nodiscard]] bool requesting() const noexcept {
    return phase_ == phase::head || phase_ == phase::body;
  }
  void advance();
  bool step();
  bool begin_request();
  bool read_body();
  void run_handler();
  void refuse(int status, std::string_view reason);
  void finish_request();
  void start_lingering();
  void read_more();
  void flush();
  void on_handshake(const boost::system::error_code& failed);
  void on_read(const boost::system::error_code& failed, std::size_t octets);
  void on_writable(const boost::system::error_code& failed);
  static void on_deadline(timer_wheel::entry& e);
  void arm(std::chrono::milliseconds after);
  void came_back();

  http_server& owner_;
  stream stream_;
  peer_address peer_;
  buffer in_;
  std::string out_;
  std::size_t out_sent_ = 0;

  http1::request_parser parser_;
  http1::request_head head_;
  http1::body_reader body_reader_;
  std::string head_octets_;  // of a head whose body was not there yet
  std::string body_;
  std::string_view body_view_;
  std::size_t request_octets_ = 0;  // of in_ that belong to the request in hand

  timer_wheel::entry deadline_;
  std::size_t lingered_ = 0;
  int under_way_ = 0;  // operations that will come back
  phase phase_ = phase::closed;
  bool in_use_ = false;  // not given back to the server yet
  bool keep_ = true;     // another request may follow
  bool advancing_ = false;
  bool reading_ = false;
  bool write_waiting_ = false;
  bool peer_done_ = false;  // the client has sent its last octet
};

}  // namespace penstock::net
