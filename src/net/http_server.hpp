// A lean HTTP/1.1 server for Penstock's own faces: decisions, admin, health. Requests are read
// whole (bodies are bounded) and handed to a handler that answers at once or later on the same
// loop. Keep-alive, pipelining, 100-continue, HEAD and deadlines are dealt with here. A warm
// connection allocates nothing per request. Everything lives on one loop. Source: RFC 9110, RFC
// 9112.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/buffer_pool.hpp"
#include "net/drain.hpp"
#include "net/http1.hpp"
#include "net/http1_date.hpp"
#include "net/listener.hpp"
#include "net/loop.hpp"
#include "net/tls.hpp"

namespace penstock::net {

// Who is at the other end of a connection.
struct peer_address {
  enum class kind : std::uint8_t { v4, v6, unix_socket };
  kind what = kind::unix_socket;
  std::array<std::uint8_t, 16> octets{};  // 4 or 16 from the front

  // 127.0.0.0/8 (also as ::ffff:127…), ::1 or a unix socket.
  [[nodiscard]] bool is_local() const noexcept;
};

// What a face keeps with a connection between and during requests; reused by its next request.
class http_attachment {
 public:
  virtual ~http_attachment() = default;
};

// One request and the duty to answer it. Its views are good until it is answered or abandoned.
class http_exchange {
 public:
  [[nodiscard]] virtual const http1::request_head& head() const noexcept = 0;
  [[nodiscard]] virtual std::string_view body() const noexcept = 0;  // complete
  [[nodiscard]] virtual const peer_address& peer() const noexcept = 0;

  // Sends the response. Once, from the loop's thread, during handle() or later. `content_type` may
  // be empty only without content. `fields` are complete lines "Name: value\r\n". For HEAD the
  // content is measured and left out; 204 and 304 have none. Nothing of the arguments is kept. The
  // exchange must not be touched after a later answer.
  virtual void answer(int status, std::string_view content_type, std::string_view content,
                      std::string_view fields = {}) = 0;
  // No further request is taken from this connection after the answer. Before answer().
  virtual void close_after() noexcept = 0;

  std::unique_ptr<http_attachment> attachment;

 protected:
  ~http_exchange() = default;
};

class http_handler {
 public:
  virtual ~http_handler() = default;

  // Ends in x.answer(), before it returns or later. Must not throw.
  virtual void handle(http_exchange& x) = 0;
  // The client left, or the server was shut down, while the answer was due: it must not be given
  // any more. Not called for requests that are answered.
  virtual void abandoned(http_exchange&) {}

  // For counters.
  virtual void connection_opened() {}
  virtual void connection_closed() {}
  virtual void connection_refused() {}  // closed at once: connections_max was reached
  virtual void malformed() {}           // a request was answered 4xx or 5xx before handle()
};

struct http_server_options {
  http1::limits head{};
  std::size_t body_max = 1U << 20U;  // octets of content; 413 above
  std::size_t connections_max = 1024;
  std::chrono::milliseconds idle_timeout{60'000};   // a kept connection without a request
  std::chrono::milliseconds head_timeout{10'000};   // from the first octet to the end of the head
  std::chrono::milliseconds body_timeout{30'000};   // for the whole body
  std::chrono::milliseconds write_timeout{30'000};  // for a client to take what is waiting for it
  std::chrono::milliseconds linger_timeout{1'000};  // for it to notice that we close
};

class http_server {
 public:
  // `on` and `handler` must outlive the server. The server must be idle (see when_idle) before it
  // is destroyed, and its loop must have run since, if it ever accepted.
  http_server(loop& on, http_handler& handler, const http_server_options& options = {});
  ~http_server();
  http_server(const http_server&) = delete;
  http_server& operator=(const http_server&) = delete;

  // All of these on the loop's thread, or before it runs.
  // Connections from now on speak TLS, and have so long to agree on it; null: plain HTTP.
  void use_tls(std::shared_ptr<const tls_context> context,
               std::chrono::milliseconds handshake_timeout) {
    tls_ = std::move(context);
    handshake_timeout_ = handshake_timeout;
  }
  void listen(std::vector<listening_socket> sockets);
  // Stops accepting; connections are closed after the answer they wait for, idle ones as `idle`
  // says.
  void drain(idle_clients idle = idle_clients::close_soon);
  // Closes everything, whatever it is doing.
  void shut_down();
  // Calls `done` once no connection and no listener is left, which may be at once.
  void when_idle(std::function<void()> done);

  [[nodiscard]] std::size_t connections() const noexcept { return open_; }

 private:
  friend class http_connection;
  friend class http_acceptor;

  void opened(int descriptor, const peer_address& peer);
  void closed(class http_connection& connection);
  void accepted_last();
  void look_idle();
  [[nodiscard]] std::string_view date() { return dates_.at(loop::wall_seconds()); }

  loop& loop_;
  http_handler& handler_;
  const http_server_options options_;
  std::shared_ptr<const tls_context> tls_;
  std::chrono::milliseconds handshake_timeout_{};
  buffer_pool buffers_;
  http1::date_cache dates_;
  std::vector<std::unique_ptr<class http_acceptor>> acceptors_;
  // Connections are kept for the next client and destroyed with the server: a completion that comes
  // late finds its object alive.
  std::vector<std::unique_ptr<class http_connection>> all_;
  std::vector<class http_connection*> free_;
  std::size_t open_ = 0;
  std::size_t accepting_ = 0;
  bool draining_ = false;
  idle_clients idle_ = idle_clients::close_soon;  // when draining
  std::function<void()> on_idle_;
};

// Answers that every face gives.
void answer_not_found(http_exchange& x);
// `allow`: the methods, "GET, HEAD".
void answer_method_not_allowed(http_exchange& x, std::string_view allow);
void answer_text(http_exchange& x, int status, std::string_view text);

}  // namespace penstock::net
