// The process that takes over from this one: the same program, found again under its name so that a
// new version is taken, with the same arguments, and with this one's listening sockets open (see
// inheritance.hpp). Used on one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <penstock/result.hpp>

#include "net/listener_source.hpp"

namespace penstock::cli {

class successor {
 public:
  successor();
  ~successor();  // leaves the process alone
  successor(const successor&) = delete;
  successor& operator=(const successor&) = delete;

  enum class stage : std::uint8_t { none, starting, serving };
  [[nodiscard]] stage at() const noexcept { return stage_; }
  [[nodiscard]] int pid() const noexcept { return pid_; }

  // Starts one, when there is none. Signals that this thread blocks are blocked in it, too, until
  // it waits for them. Errors: io.
  [[nodiscard]] std::optional<error> start(const std::vector<net::named_socket>& sockets);

  // What has happened since the last look. After `failed` and `died` there is none any more.
  enum class news : std::uint8_t {
    nothing,
    serves,  // it said so
    failed,  // ended, or said nothing for a minute and was ended, before it served
    died     // ended after it had served
  };
  [[nodiscard]] news look();
  // How the last one ended, for a person: "exit code 2", "signal 9".
  [[nodiscard]] const std::string& ending() const noexcept { return ending_; }

  // Asks the process to end. This one is its parent and sees to nothing else.
  void stop();

 private:
  void reap(int options);
  void forget();

  std::string program_;
  std::vector<std::string> arguments_;
  stage stage_ = stage::none;
  int pid_ = -1;
  int ready_ = -1;  // the read end
  std::int64_t give_up_at_ms_ = 0;
  std::string ending_;
};

}  // namespace penstock::cli
