#include "cli/service_manager.hpp"

#include <cstddef>
#include <cstring>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace penstock::cli {

void tell_service_manager(const char* socket, std::string_view state) {
  if (socket == nullptr) return;
  const std::string_view path(socket);
  sockaddr_un to{};
  if ((path.size() < 2) || path.size() >= sizeof to.sun_path) return;
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, path.data(), path.size());
  if (to.sun_path[0] == '@') to.sun_path[0] = '\0';  // the abstract name space
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  // A manager that does not listen must not hold up anything.
  ::sendto(fd, state.data(), state.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&to),
           static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size()));
  ::close(fd);
}

}  // namespace penstock::cli
