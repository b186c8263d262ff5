// Listening sockets. Opening one is separate from accepting on it, so that every address of a
// configuration is tried, and named in a message, before the first connection is taken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <penstock/result.hpp>

#include "net/endpoint.hpp"

namespace penstock::net {

struct listen_options {
  int backlog = 4096;       // connections that wait to be accepted; the system caps it (somaxconn)
  std::size_t shares = 1;   // sockets on the same address, one per loop; unix sockets share one
  bool share_port = false;  // other processes may listen on the same port (rolling restarts)
};

// An open, listening, non-blocking socket. Closes itself.
class listening_socket {
 public:
  explicit listening_socket(int descriptor) noexcept : descriptor_(descriptor) {}
  listening_socket(listening_socket&& other) noexcept;
  listening_socket& operator=(listening_socket&& other) noexcept;
  ~listening_socket();

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  // The caller closes it from now on.
  [[nodiscard]] int release() noexcept;

 private:
  int descriptor_;
};

struct opened_listener {
  endpoint where;                         // with the real port
  std::vector<listening_socket> sockets;  // `shares` of them
};

// Resolves and opens. A stale unix socket that nobody listens on is replaced, a live one is not.
// Errors: io, with a sentence that says what to do ("address 127.0.0.1:8080 is in use: …").
result<opened_listener> open_listener(const endpoint& where, const listen_options& options);

// Whether a listening socket's address is `where`, which is resolved; port 0 fits every port.
[[nodiscard]] bool listens_on(int descriptor, const endpoint& where);
// 0 for unix sockets.
[[nodiscard]] std::uint16_t listening_port(int descriptor);

}  // namespace penstock::net
