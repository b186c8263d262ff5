// The smallest Redis client that can test one: writes a command, waits for the answer. Throws on
// anything unexpected, because then the test has nothing to say. Not thread-safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/resp.hpp"

namespace penstock::redis_test {

class blocking_client {
 public:
  explicit blocking_client(const std::string& socket_path);
  explicit blocking_client(int port);  // on 127.0.0.1
  ~blocking_client();
  blocking_client(const blocking_client&) = delete;
  blocking_client& operator=(const blocking_client&) = delete;

  // Whether a server answers a PING at the socket.
  [[nodiscard]] static bool answers(const std::string& socket_path);

  // The nodes are valid until the next call. An error answer is returned like any other.
  std::span<const net::resp::node> call(const std::vector<std::string_view>& words);

  // The answer as text: strings and errors as they are, integers in decimal, null as "(null)".
  std::string text(const std::vector<std::string_view>& words);

 private:
  int fd_ = -1;
  std::string out_;
  std::string in_;
  std::size_t used_ = 0;
  net::resp::reader reader_;
};

}  // namespace penstock::redis_test
