#include "net/http_server.hpp"

#include <algorithm>
#include <utility>

#include <sys/socket.h>
#include <unistd.h>

#include "net/http_acceptor.hpp"
#include "net/http_server_connection.hpp"

namespace penstock::net {

bool peer_address::is_local() const noexcept {
  switch (what) {
    case kind::unix_socket:
      return true;
    case kind::v4:
      return octets[0] == 127;
    case kind::v6:
      return std::all_of(octets.begin(), octets.end() - 1, [](auto o) { return o == 0; }) &&
             octets.back() == 1;
  }
  return false;
}

http_server::http_server(loop& on, http_handler& handler, const http_server_options& options)
    : loop_(on), handler_(handler), options_(options) {}

http_server::~http_server() = default;

void http_server::listen(std::vector<listening_socket> sockets) {
  for (listening_socket& s : sockets) {
    acceptors_.push_back(std::make_unique<http_acceptor>(*this, loop_, std::move(s)));
    ++accepting_;
    acceptors_.back()->start();
  }
}

void http_server::opened(int descriptor, const peer_address& peer) {
  if (open_ >= options_.connections_max) {
    ::close(descriptor);
    handler_.connection_refused();
    return;
  }
  const int family = peer.what == peer_address::kind::v4   ? AF_INET
                     : peer.what == peer_address::kind::v6 ? AF_INET6
                                                           : AF_UNIX;
  stream_socket socket(loop_.context(), boost::asio::generic::stream_protocol(family, 0),
                       descriptor);
  if (free_.empty()) {
    all_.push_back(std::make_unique<http_connection>(*this));
    free_.push_back(all_.back().get());
  }
  http_connection* const connection = free_.back();
  free_.pop_back();
  ++open_;
  handler_.connection_opened();
  connection->open(std::move(socket), peer);
}

void http_server::closed(http_connection& connection) {
  free_.push_back(&connection);
  --open_;
  handler_.connection_closed();
  look_idle();
}

void http_server::accepted_last() {
  --accepting_;
  look_idle();
}

void http_server::look_idle() {
  if (open_ == 0 && accepting_ == 0 && on_idle_) std::exchange(on_idle_, nullptr)();
}

void http_server::drain(idle_clients idle) {
  if (std::exchange(draining_, true)) return;
  idle_ = idle;
  for (const auto& a : acceptors_) {
    const bool comes_back = a->under_way();
    a->close();
    if (!comes_back) --accepting_;
  }
  for (std::size_t i = 0; i < all_.size(); ++i) all_[i]->drain();
  look_idle();
}

void http_server::shut_down() {
  drain();
  for (std::size_t i = 0; i < all_.size(); ++i) all_[i]->end();
  look_idle();
}

void http_server::when_idle(std::function<void()> done) {
  on_idle_ = std::move(done);
  look_idle();
}

void answer_text(http_exchange& x, int status, std::string_view text) {
  x.answer(status, "text/plain; charset=utf-8", text);
}

void answer_not_found(http_exchange& x) {
  answer_text(x, 404, "not found\n");
}

void answer_method_not_allowed(http_exchange& x, std::string_view allow) {
  std::string fields = "Allow: ";
  fields.append(allow).append("\r\n");
  x.answer(405, "text/plain; charset=utf-8", "method not allowed\n", fields);
}

}  // namespace penstock::net
