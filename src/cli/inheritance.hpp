// What a process finds open when it starts: listening sockets, left by the process that it follows
// or by the service manager (systemd's socket activation), and the pipe on which a successor says
// that it serves. Source: sd_listen_fds(3): descriptors from 3 on, LISTEN_PID, LISTEN_FDS,
// LISTEN_FDNAMES.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/listener_source.hpp"

namespace penstock::cli {

inline constexpr int first_inherited = 3;
// The name under which the pipe stands among the descriptors.
inline constexpr std::string_view ready_name = "penstock-ready";

// The write end of that pipe, or nothing. Closed without a word it says that the start failed.
class ready_pipe {
 public:
  ready_pipe() = default;
  explicit ready_pipe(int descriptor) noexcept : descriptor_(descriptor) {}
  ready_pipe(ready_pipe&& other) noexcept;
  ready_pipe& operator=(ready_pipe&& other) noexcept;
  ~ready_pipe();

  // Whether a predecessor waits for the word.
  [[nodiscard]] bool awaited() const noexcept { return descriptor_ >= 0; }
  // Says it. No effect when nobody waits, or not any more.
  void say();

 private:
  int descriptor_ = -1;
};

struct inheritance {
  std::vector<net::named_socket> sockets;
  ready_pipe ready;
};

// `variable` reads the environment; `pid` is this process. Descriptors become close-on-exec and
// non-blocking; what is not a listening stream socket is closed. To be called once.
[[nodiscard]] inheritance take_inheritance(
    const std::function<std::optional<std::string>(const char* name)>& variable, int pid);

}  // namespace penstock::cli
