// TLS 1.2 and 1.3 for a stream: contexts made once from files and shared by all loops, and one
// session per connection that works on a non-blocking socket and never waits. OpenSSL stays inside
// tls.cpp. No renegotiation, no compression, no early data; tickets resume sessions without a
// cache, so memory per client is bounded by its connection.
//
// Sources: RFC 8446, RFC 5246, RFC 6066 (SNI), RFC 7301 (ALPN), SSL_CTX_new(3) and its neighbours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <sys/uio.h>

#include <penstock/result.hpp>

namespace penstock::net {

enum class tls_version : std::uint8_t { v1_2, v1_3 };

struct certificate_files {
  std::string certificate;  // PEM: the server's own first, then the chain
  std::string key;          // PEM, without a passphrase
};

struct tls_server_options {
  std::vector<certificate_files> certificates;  // at least one; the first serves unknown names
  tls_version least = tls_version::v1_2;
};

struct tls_client_options {
  std::string ca_file{};  // PEM; empty: the system's authorities
  bool verify = true;     // the chain and the host's name; false: neither
};

// What sessions are made from. Immutable, safe to share between threads; sessions keep it alive.
class tls_context {
 public:
  // Reads the files. A key that does not fit its certificate is an error. With `previous` (may be
  // null) tickets issued by it still resume. Errors: invalid_config, io.
  static result<std::shared_ptr<const tls_context>> server(const tls_server_options& options,
                                                           const tls_context* previous = nullptr);
  static result<std::shared_ptr<const tls_context>> client(const tls_client_options& options);

  struct state;
  explicit tls_context(std::unique_ptr<state> s) noexcept;
  ~tls_context();
  tls_context(const tls_context&) = delete;
  tls_context& operator=(const tls_context&) = delete;

 private:
  friend class tls_session;
  std::unique_ptr<state> state_;
};

// One connection's TLS. Not thread-safe; the descriptor must stay open until close_notify() or
// destruction, whichever comes last, and is not owned.
class tls_session {
 public:
  // As the server. `received`: octets of the handshake that were read already.
  tls_session(const tls_context& context, int descriptor, std::string_view received);
  // As a client of `host`: a name (asked for by SNI and checked) or an IP address (checked).
  struct host_name {
    std::string_view text;
  };
  tls_session(const tls_context& context, int descriptor, host_name host);
  ~tls_session();
  tls_session(const tls_session&) = delete;
  tls_session& operator=(const tls_session&) = delete;

  // read, write: call again when the socket is ready for that.
  enum class status : std::uint8_t { done, want_read, want_write, ended, failed };

  status handshake() noexcept;
  // `octets` > 0 with done. ended: the peer said so with close_notify; failed: also a cut.
  status read(char* to, std::size_t room, std::size_t& octets) noexcept;
  // Takes what the socket takes; `octets` may be less than there is, also with want_write. The
  // same octets must be given again then.
  status write(const iovec* pieces, int count, std::size_t& octets) noexcept;
  // Octets may be had without the socket being ready.
  [[nodiscard]] bool holds_input() const noexcept;
  // Tells the peer that nothing more comes, if the socket takes that now.
  void close_notify() noexcept;

  [[nodiscard]] bool resumed() const noexcept;
  // Why the handshake failed, a static sentence.
  [[nodiscard]] const char* failure() const noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace penstock::net
