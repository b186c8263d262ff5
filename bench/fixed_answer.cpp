// What the system alone costs a server: one thread that answers whatever it reads with the same
// octets, without looking at it. The benches name it `floor`; no server can be cheaper.
//   fixed_answer FILE    answers with FILE's octets; prints its port
#include <array>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace {

void watch(int epoll, int descriptor, unsigned events) {
  epoll_event e{};
  e.events = events;
  e.data.fd = descriptor;
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &e);
}

void answer(int client, const std::string& octets) {
  std::array<char, 16384> request;
  const ssize_t got = ::recv(client, request.data(), request.size(), 0);
  if (got <= 0 || ::send(client, octets.data(), octets.size(), MSG_NOSIGNAL) < 0) ::close(client);
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  std::ifstream file(words[1], std::ios::binary);
  const std::string octets{std::istreambuf_iterator<char>(file), {}};
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  if (octets.empty() || ::bind(listener, reinterpret_cast<sockaddr*>(&at), size) != 0 ||
      ::listen(listener, 4096) != 0 ||
      ::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    return 1;
  }
  std::printf("%d\n", ntohs(at.sin_port));
  std::fflush(stdout);
  const int epoll = ::epoll_create1(0);
  watch(epoll, listener, EPOLLIN);
  std::array<epoll_event, 256> events;
  for (;;) {
    const int ready = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < ready; ++i) {
      const int descriptor = events[static_cast<std::size_t>(i)].data.fd;
      if (descriptor != listener) {
        answer(descriptor, octets);
        continue;
      }
      const int client = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK);
      if (client < 0) continue;
      const int on = 1;
      ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      watch(epoll, client, EPOLLIN | EPOLLRDHUP | EPOLLET);
    }
  }
}
