// TLS as a machine without sockets: octets of the network in, octets of the protocol out, and back.
// The context holds certificates and rules and is shared by all connections of a store.
// Not thread-safe; one context per loop.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <penstock/result.hpp>

#include "store/redis/redis_url.hpp"

struct ssl_st;
struct ssl_ctx_st;

namespace penstock::store::redis {

class tls_context {
 public:
  // Errors: invalid_config naming the file that cannot be used.
  static result<std::shared_ptr<tls_context>> make(const tls_options& options);
  ~tls_context();
  tls_context(const tls_context&) = delete;
  tls_context& operator=(const tls_context&) = delete;

  [[nodiscard]] ssl_ctx_st* native() const noexcept { return context_; }
  [[nodiscard]] const tls_options& options() const noexcept { return options_; }

 private:
  explicit tls_context(tls_options options) : options_(std::move(options)) {}
  ssl_ctx_st* context_ = nullptr;
  tls_options options_;
};

class tls_session {
 public:
  // `host`: whom we mean to speak to, a name or an address.
  tls_session(const tls_context& context, const std::string& host);
  ~tls_session();
  tls_session(const tls_session&) = delete;
  tls_session& operator=(const tls_session&) = delete;

  // Takes octets of the peer, appends what they mean to `plain` and what must be sent to `wire`.
  // False: the connection cannot go on; problem() says why.
  bool receive(std::string_view octets, std::string& plain, std::string& wire);
  // Begins the handshake (the client speaks first).
  bool start(std::string& wire);
  bool send(std::string_view plain, std::string& wire);

  [[nodiscard]] bool established() const noexcept { return established_; }
  [[nodiscard]] const std::string& problem() const noexcept { return problem_; }

 private:
  bool advance();
  bool fail(int code);
  void drain(std::string& wire);

  ssl_st* session_ = nullptr;
  bool established_ = false;
  std::string problem_;
};

}  // namespace penstock::store::redis
