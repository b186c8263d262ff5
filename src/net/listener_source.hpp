// Where a process gets its listeners: from the process before it or the service manager, which left
// sockets open for it, or else from the system. It keeps a duplicate of each, so that a successor
// can be given all of them; while a duplicate or a successor holds a socket, connections that wait
// in its queue are not lost. Used on one thread, before and beside serving.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <penstock/result.hpp>

#include "net/listener.hpp"

namespace penstock::net {

// A listening socket and what it is for: "gateway", "decision", "admin", "health".
struct named_socket {
  std::string name;
  listening_socket socket;
};

class listener_source {
 public:
  // `inherited` must be listening stream sockets.
  explicit listener_source(std::vector<named_socket> inherited = {});

  // The listener of `face` on `where`. Inherited sockets on that very address are taken, however
  // many: at least options.shares sockets come back. For port 0, which any process would be given
  // anew, those that are named like the face. Without any it is open_listener().
  // Errors: those of open_listener().
  [[nodiscard]] result<opened_listener> open(std::string_view face, const endpoint& where,
                                             const listen_options& options);

  // Closes inherited sockets that nothing asked for. How many there were.
  std::size_t close_unclaimed();

  // Duplicates of all that was opened; close-on-exec.
  [[nodiscard]] const std::vector<named_socket>& kept() const noexcept { return kept_; }
  // From now on the sockets close with their users.
  void close_kept() { kept_.clear(); }

 private:
  [[nodiscard]] std::vector<listening_socket> claim(std::string_view face, const endpoint& where);

  std::vector<named_socket> inherited_;
  std::vector<named_socket> kept_;
};

// The listener of `face` from `source`, or from the system when there is none.
[[nodiscard]] result<opened_listener> open_listener_from(listener_source* source,
                                                         std::string_view face,
                                                         const endpoint& where,
                                                         const listen_options& options);

}  // namespace penstock::net
