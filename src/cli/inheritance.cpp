#include "cli/inheritance.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace penstock::cli {
namespace {

constexpr int descriptors_max = 4096;

std::optional<int> number(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  int value = 0;
  const char* const end = text->data() + text->size();
  const auto [at, failed] = std::from_chars(text->data(), end, value);
  if (failed != std::errc{} || at != end) return std::nullopt;
  return value;
}

bool listens(int descriptor) {
  const auto option = [descriptor](int name) {
    int value = 0;
    socklen_t size = sizeof value;
    return ::getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : -1;
  };
  return option(SO_ACCEPTCONN) == 1 && option(SO_TYPE) == SOCK_STREAM;
}

}  // namespace

ready_pipe::ready_pipe(ready_pipe&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

ready_pipe& ready_pipe::operator=(ready_pipe&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

ready_pipe::~ready_pipe() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void ready_pipe::say() {
  if (descriptor_ < 0) return;
  // Fails only when the predecessor is gone, and then nobody has to know.
  if (::write(descriptor_, "1", 1) == 1) {
    // said
  }
  ::close(std::exchange(descriptor_, -1));
}

inheritance take_inheritance(
    const std::function<std::optional<std::string>(const char* name)>& variable, int pid) {
  inheritance out;
  const auto count = number(variable("LISTEN_FDS"));
  // Another process's variables that came down to this one are none of its business.
  if (number(variable("LISTEN_PID")) != pid || !count || *count < 1 || *count > descriptors_max) {
    return out;
  }
  const std::string names = variable("LISTEN_FDNAMES").value_or("");
  std::size_t from = 0;
  for (int fd = first_inherited; fd < first_inherited + *count; ++fd) {
    const auto end = std::min(names.find(':', from), names.size());
    const std::string name = names.substr(from, end - from);
    from = std::min(end + 1, names.size());
    if (::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) continue;  // nothing is open there
    if (name == ready_name) {
      out.ready = ready_pipe(fd);
    } else if (listens(fd)) {
      ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
      out.sockets.push_back({name, net::listening_socket(fd)});
    } else {
      ::close(fd);
    }
  }
  return out;
}

}  // namespace penstock::cli
