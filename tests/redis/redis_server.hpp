// A private redis-server for one test: its own folder, a unix socket and, where asked, a free port
// on loopback. Ends exactly the process it started. PENSTOCK_REDIS_SERVER names another program
// than redis-server, for example valkey-server. Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace penstock::redis_test {

// False when it is not installed; then a test skips, and fails where CI=true.
[[nodiscard]] bool have_redis_server();

// A port that was free on 127.0.0.1 a moment ago.
[[nodiscard]] int free_port();

class redis_server {
 public:
  // `options`: words of the command line behind the ones that make it private. `sentinel`: not
  // empty: the lines of a Sentinel's configuration.
  explicit redis_server(std::vector<std::string> options = {}, int port = 0,
                        const std::string& sentinel = {});
  ~redis_server();
  redis_server(const redis_server&) = delete;
  redis_server& operator=(const redis_server&) = delete;

  void start();   // again, after stop(): same folder and port; waits until it answers
  void stop();    // SIGKILL, and waits for its end
  void pause();   // SIGSTOP
  void resume();  // SIGCONT

  [[nodiscard]] const std::string& socket_path() const noexcept { return socket_path_; }
  [[nodiscard]] const std::string& folder() const noexcept { return folder_; }
  [[nodiscard]] int port() const noexcept { return port_; }
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] std::string log() const;  // what the server wrote

 private:
  std::vector<std::string> options_;
  bool sentinel_ = false;
  std::string folder_;
  std::string socket_path_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace penstock::redis_test

#define PENSTOCK_NEEDS_REDIS()                                                     \
  do {                                                                             \
    if (!::penstock::redis_test::have_redis_server()) {                            \
      if (std::getenv("CI") != nullptr) FAIL() << "redis-server is not installed"; \
      GTEST_SKIP() << "redis-server is not installed";                             \
    }                                                                              \
  } while (false)
