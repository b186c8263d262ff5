#include "blocking_client.hpp"

#include <cstring>
#include <stdexcept>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace penstock::redis_test {
namespace resp = net::resp;

blocking_client::blocking_client(const std::string& socket_path) {
  fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_path.c_str(), sizeof(address.sun_path) - 1);
  if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    ::close(fd_);
    throw std::runtime_error("connect " + socket_path);
  }
}

blocking_client::blocking_client(int port) {
  fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    ::close(fd_);
    throw std::runtime_error("connect to port " + std::to_string(port));
  }
}

blocking_client::~blocking_client() {
  ::close(fd_);
}

bool blocking_client::answers(const std::string& socket_path) {
  try {
    blocking_client c(socket_path);
    const std::string answer = c.text({"PING"});
    return answer == "PONG" || answer.starts_with("NOAUTH");
  } catch (const std::runtime_error&) {
    return false;
  }
}

std::span<const resp::node> blocking_client::call(const std::vector<std::string_view>& words) {
  out_.clear();
  resp::append_array(out_, words.size());
  for (const std::string_view w : words) resp::append_bulk(out_, w);
  for (std::size_t sent = 0; sent < out_.size();) {
    const ssize_t n = ::send(fd_, out_.data() + sent, out_.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) throw std::runtime_error("send to redis");
    sent += static_cast<std::size_t>(n);
  }
  in_.erase(0, used_);
  used_ = 0;
  reader_.reset();
  while (true) {
    const resp::read_status s = reader_.read(in_);
    if (s == resp::read_status::bad) throw std::runtime_error(reader_.problem());
    if (s == resp::read_status::complete) break;
    char buffer[65536];
    const ssize_t n = ::recv(fd_, buffer, sizeof(buffer), 0);
    if (n <= 0) throw std::runtime_error("redis closed the connection");
    in_.append(buffer, static_cast<std::size_t>(n));
  }
  used_ = reader_.consumed();
  return reader_.nodes();
}

std::string blocking_client::text(const std::vector<std::string_view>& words) {
  const resp::node first = call(words).front();
  switch (first.kind) {
    case resp::type::integer:
      return std::to_string(first.number);
    case resp::type::null:
      return "(null)";
    default:
      return std::string(first.text);
  }
}

}  // namespace penstock::redis_test
