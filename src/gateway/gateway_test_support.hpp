// The other ends of a gateway under test: a client and an upstream on plain blocking sockets, and a
// decider that goes by the path. Nothing here uses the code under test but its public face.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "gateway/gateway.hpp"

namespace penstock::gateway {

// `size` octets that do not repeat soon.
std::string pattern(std::size_t size);
// `content` in the chunked coding, in chunks of `chunk` octets, with the last one.
std::string chunked(const std::string& content, std::size_t chunk);
// Waits up to 10 s for `condition`.
bool eventually(const std::function<bool()>& condition);

struct message {
  std::string line;
  std::vector<std::pair<std::string, std::string>> fields;
  std::string body;
  bool complete = false;

  [[nodiscard]] std::string field(std::string_view name) const;  // "" when absent
};

struct seen_request : message {
  [[nodiscard]] std::string target() const;
};

struct seen_response : message {
  int status = 0;
};

// A whole answer.
inline const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

enum class response_of { get, head };

// A blocking socket with a buffer; every read gives up after 20 s.
class peer {
 public:
  explicit peer(int descriptor) : descriptor_(descriptor) {}
  peer(peer&& other) noexcept;
  ~peer() { close(); }

  void send(std::string_view octets);
  // `before_body` is called when the head expects 100.
  bool read_request(seen_request& out, const std::function<void()>& before_body = {});
  seen_response read_response(response_of method = response_of::get);
  std::string read_exactly(std::size_t size);
  // True when the other side closes, and nothing more comes before.
  bool ends();
  void half_close();
  void close();
  void close_with_reset();
  // One read; empty at the end.
  std::string read_some();

 private:
  bool read_head(message& out);
  bool read_body(message& out, bool until_close);
  bool more();

  int descriptor_;
  std::string buffer_;
};

// Answers every complete request. Each connection has a thread.
class fake_upstream {
 public:
  explicit fake_upstream(bool listens);
  ~fake_upstream();

  [[nodiscard]] std::uint16_t port() const { return port_; }
  // What to send; "<EOF>" at the end closes the connection afterwards; "" sends nothing.
  void respond_with(std::function<std::string(const seen_request&)> respond);
  void close_instead_of_second_answer() { close_second_ = true; }
  void send_continue(bool yes) { send_continue_ = yes; }
  void tunnel_echo() { tunnel_ = true; }
  void never_read() { never_read_ = true; }

  [[nodiscard]] std::vector<seen_request> requests() const;  // the complete ones
  [[nodiscard]] std::size_t connections() const;

 private:
  void accept_all();
  void serve(int descriptor);

  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> close_second_{false};
  std::atomic<bool> send_continue_{true};
  std::atomic<bool> tunnel_{false};
  std::atomic<bool> never_read_{false};
  mutable std::mutex mutex_;
  std::function<std::string(const seen_request&)> respond_;
  std::vector<seen_request> requests_;
  std::vector<int> open_;
  std::vector<int> kept_;  // accepted and left alone
  std::size_t connections_ = 0;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

// /deny: 429. /delay: waits. /pending: answers later on the loop. Anything else passes.
class fake_decider final : public service::decider {
 public:
  static constexpr std::chrono::milliseconds delay{80};

  explicit fake_decider(net::loop& loop) : loop_(loop) {}
  service::answer decide(service::exchange_context& x, instant now) override;
  void cancel(service::exchange_context& x, instant now) override;
  void completed(service::exchange_context& x, int status, instant now) override;
  [[nodiscard]] std::span<const std::string> untrusted_fields() const noexcept override {
    return {};
  }

  [[nodiscard]] int decided() const { return decided_; }
  [[nodiscard]] int cancelled() const { return cancelled_; }
  std::chrono::milliseconds delay_now = delay;

 private:
  net::loop& loop_;
  std::atomic<int> decided_{0};
  std::atomic<int> cancelled_{0};
};

struct fixture_options {
  bool upstream_listens = true;
  int dead_upstreams = 0;
  std::chrono::milliseconds response_timeout{20'000};
  std::chrono::milliseconds continue_timeout{20'000};
  std::chrono::milliseconds head_timeout{20'000};
  std::chrono::milliseconds body_grace{20'000};
  std::chrono::milliseconds write_grace{20'000};
  std::chrono::milliseconds decider_delay = fake_decider::delay;
  std::size_t in_flight_max = 0;
  std::size_t connections_max = 0;
  bool proxy_protocol = false;
  int loops = 1;
};

// A running gateway with one upstream that answers, on one loop or more.
class fixture {
 public:
  explicit fixture(const fixture_options& options = {});
  ~fixture();

  peer connect();
  [[nodiscard]] bool refuses_connections() const;
  [[nodiscard]] gateway_counts counts() const { return gateway_->counts(); }
  [[nodiscard]] class gateway& gateway() { return *gateway_; }

  fake_upstream upstream;

 private:
  steady_wall_clock clock_;
  std::deque<net::loop> loops_;
  std::deque<fake_decider> deciders_;

 public:
  fake_decider& decider;  // of the first loop

 private:
  fake_decider& add_loops(int count);

  std::unique_ptr<class gateway> gateway_;
  std::vector<std::thread> threads_;
};

}  // namespace penstock::gateway
