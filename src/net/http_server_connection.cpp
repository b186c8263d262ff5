#include "net/http_server_connection.hpp"

#include <algorithm>
#include <utility>

#include "net/http1_write.hpp"

namespace penstock::net {
namespace {

constexpr std::size_t block_min = buffer_pool::smallest;
// Answers that wait to be written; no further request is taken up above it.
constexpr std::size_t out_max = 64U << 10U;
// What a closed connection still reads so that a reset does not overtake the answer.
constexpr std::size_t linger_max = 256U << 10U;
// Strings that grew beyond it are given back between requests.
constexpr std::size_t kept_octets_max = 64U << 10U;

void trim(std::string& s) {
  s.clear();
  if (s.capacity() > kept_octets_max) s.shrink_to_fit();
}

}  // namespace

http_connection::http_connection(http_server& owner)
    : owner_(owner),
      stream_(owner.loop_.context()),
      in_(owner.buffers_),
      parser_(owner.options_.head),
      deadline_(&http_connection::on_deadline, this) {}

void http_connection::open(stream_socket socket, const peer_address& peer) {
  stream_.socket() = std::move(socket);
  peer_ = peer;
  if (peer.what != peer_address::kind::unix_socket) stream_.no_delay();
  in_use_ = true;
  keep_ = true;
  peer_done_ = false;
  lingered_ = 0;
  parser_.reset();
  if (owner_.tls_) {
    phase_ = phase::handshake;
    arm(owner_.handshake_timeout_);
    stream_.use_tls(*owner_.tls_, std::string_view{});
    ++under_way_;
    stream_.handshake<&http_connection::on_handshake>(this);
    return;
  }
  phase_ = phase::head;
  arm(owner_.options_.head_timeout);
  advance();
}

void http_connection::on_handshake(const boost::system::error_code& failed) {
  --under_way_;
  if (phase_ == phase::closed) {
    came_back();
    return;
  }
  if (failed) {
    end();
    return;
  }
  phase_ = phase::head;
  arm(owner_.options_.head_timeout);
  advance();
}

// --- reading

void http_connection::read_more() {
  if (reading_ || peer_done_) return;
  // Views of a request whose answer is due point into the block: it must stay where it is.
  if (phase_ == phase::answering) {
    if (in_.room() == 0) return;
  } else {
    in_.rewind();
    if (in_.capacity() == 0) {
      in_.reserve(block_min);
    } else if (in_.room() == 0) {
      in_.reserve(in_.size() < in_.capacity() ? in_.capacity() : in_.size() * 2);
    }
  }
  reading_ = true;
  ++under_way_;
  stream_.read<&http_connection::on_read>(this, in_.back(), in_.room());
}

void http_connection::on_read(const boost::system::error_code& failed, std::size_t octets) {
  reading_ = false;
  --under_way_;
  if (phase_ == phase::closed) {
    came_back();
    return;
  }
  in_.commit(octets);
  if (failed) {
    peer_done_ = true;
    if (failed != boost::asio::error::eof) {
      end();
    } else if (phase_ == phase::head && out_sent_ < out_.size()) {
      start_lingering();
    } else if (phase_ != phase::answering) {
      end();
    }
    // Otherwise the client closed its half only and may still wait for the answer that is due.
    return;
  }
  if (phase_ == phase::lingering) {
    lingered_ += in_.size();
    in_.consume(in_.size());
    if (lingered_ > linger_max) {
      end();
    } else {
      read_more();
    }
    return;
  }
  if (phase_ == phase::answering) {
    read_more();  // pipelined; it waits its turn
    return;
  }
  advance();
}

// Deals with what has come until more is needed. A loop and not recursion: clients pipeline.
void http_connection::advance() {
  if (std::exchange(advancing_, true)) return;
  flush();  // of an answer that came later
  bool more = true;
  while (more && out_.empty() && requesting()) {
    while (more && out_.size() <= out_max && requesting()) more = step();
    flush();
  }
  advancing_ = false;
  if (phase_ == phase::closed) came_back();
}

// False: more octets are needed, and asked for.
bool http_connection::step() {
  if (phase_ == phase::body) return read_body();
  const bool idle = in_.empty();
  switch (parser_.parse(in_.view(), head_)) {
    case http1::parse_status::need_more:
      if (idle && owner_.draining_ && owner_.idle_ == idle_clients::close_soon) {
        start_lingering();
        return false;
      }
      read_more();
      return false;
    case http1::parse_status::bad:
      refuse(parser_.error().status, parser_.error().reason);
      return true;
    case http1::parse_status::complete:
      return begin_request();
  }
  return false;
}

bool http_connection::begin_request() {
  const std::size_t head_octets = parser_.consumed();
  keep_ = head_.keep_alive;
  if (head_.body == http1::framing::none) {
    body_view_ = {};
    request_octets_ = head_octets;
    run_handler();
    return true;
  }
  if (head_.body == http1::framing::content_length) {
    if (head_.content_length > owner_.options_.body_max) {
      refuse(413, "the body is too large");
      return true;
    }
    const std::string_view rest = in_.view().substr(head_octets);
    if (rest.size() >= head_.content_length) {
      body_view_ = rest.substr(0, head_.content_length);
      request_octets_ = head_octets + head_.content_length;
      run_handler();
      return true;
    }
  }
  // The body is still coming: the head moves out of the way, and its views with it.
  head_octets_.assign(in_.view().substr(0, head_octets));
  parser_.reset();
  if (parser_.parse(head_octets_, head_) != http1::parse_status::complete) {
    refuse(400, "malformed head");  // the same octets were complete a moment ago
    return true;
  }
  in_.consume(head_octets);
  body_.clear();
  body_reader_.start(head_.body, head_.content_length);
  phase_ = phase::body;
  if (head_.expect_continue && in_.empty()) out_ += "HTTP/1.1 100 Continue\r\n\r\n";
  arm(owner_.options_.body_timeout);
  return true;
}

bool http_connection::read_body() {
  for (;;) {
    const auto step = body_reader_.next(in_.view());
    body_.append(step.data);
    in_.consume(step.consumed);
    if (step.bad) {
      refuse(400, "malformed body");
      return true;
    }
    if (body_.size() > owner_.options_.body_max) {
      refuse(413, "the body is too large");
      return true;
    }
    if (step.done) break;
    if (in_.empty()) {
      read_more();
      return false;
    }
  }
  body_view_ = body_;
  request_octets_ = 0;
  run_handler();
  return true;
}

// --- answering

void http_connection::run_handler() {
  phase_ = phase::answering;
  owner_.loop_.disarm(deadline_);
  owner_.handler_.handle(*this);
  if (phase_ == phase::answering) read_more();  // to learn that the client left
}

// A request that no handler sees. The connection ends with it: where the next one would begin is
// not known, or the rest of this one is not wanted.
void http_connection::refuse(int status, std::string_view reason) {
  owner_.handler_.malformed();
  keep_ = false;
  head_.method = {};
  head_.version_minor = 1;
  phase_ = phase::answering;
  request_octets_ = in_.size();
  body_.assign(reason);
  body_ += '\n';
  answer(status, "text/plain; charset=utf-8", body_, {});
}

void http_connection::answer(int status, std::string_view content_type, std::string_view content,
                             std::string_view fields) {
  if (phase_ != phase::answering) return;  // it was abandoned
  if (owner_.draining_ || peer_done_) keep_ = false;
  const bool bodyless = status == 204 || status == 304;
  http1::append_status_line(out_, status);
  http1::append_field(out_, "Date", owner_.date());
  if (!content_type.empty() && !bodyless) http1::append_field(out_, "Content-Type", content_type);
  if (!bodyless) http1::append_field(out_, "Content-Length", content.size());
  out_ += fields;
  if (!keep_) {
    http1::append_field(out_, "Connection", std::string_view("close"));
  } else if (head_.version_minor == 0) {
    http1::append_field(out_, "Connection", std::string_view("keep-alive"));
  }
  http1::append_head_end(out_);
  if (!bodyless && head_.method != "HEAD") out_ += content;
  finish_request();
}

void http_connection::finish_request() {
  in_.consume(request_octets_);
  request_octets_ = 0;
  body_view_ = {};
  trim(body_);
  parser_.reset();
  if (!keep_) {
    start_lingering();
  } else {
    phase_ = phase::head;
    arm(in_.empty() ? owner_.options_.idle_timeout : owner_.options_.head_timeout);
  }
  advance();  // of no effect inside handle(), where the caller goes on
}

// Everything that waits is written, then our half is closed. Closing at once while octets are
// unread would reset the connection, and the reset may overtake the answer.
void http_connection::start_lingering() {
  phase_ = phase::lingering;
  in_.consume(in_.size());
  arm(owner_.options_.write_timeout);
}

void http_connection::flush() {
  while (out_sent_ < out_.size() && !write_waiting_) {
    const iovec piece{out_.data() + out_sent_, out_.size() - out_sent_};
    const auto outcome = stream_.write(&piece, 1);
    if (outcome.failed) {
      end();
      return;
    }
    out_sent_ += outcome.octets;
    if (out_sent_ == out_.size()) break;
    write_waiting_ = true;
    ++under_way_;
    if (phase_ == phase::head) arm(owner_.options_.write_timeout);
    stream_.wait_writable<&http_connection::on_writable>(this);
  }
  if (out_sent_ < out_.size()) return;
  trim(out_);
  out_sent_ = 0;
  if (phase_ != phase::lingering) return;
  if (peer_done_) {
    end();
    return;
  }
  stream_.shutdown_write();
  arm(owner_.options_.linger_timeout);
  read_more();
}

void http_connection::on_writable(const boost::system::error_code&) {
  write_waiting_ = false;
  --under_way_;
  if (phase_ == phase::closed) {
    came_back();
    return;
  }
  flush();  // a failure is found out by the write
  if (!requesting()) return;
  if (out_.empty()) arm(owner_.options_.idle_timeout);
  advance();
}

// --- ending

void http_connection::drain() {
  if (phase_ == phase::answering) {
    keep_ = false;
  } else if (phase_ == phase::head && in_.empty() && owner_.idle_ == idle_clients::close_soon) {
    start_lingering();
    flush();
  } else if (phase_ == phase::handshake && owner_.idle_ == idle_clients::close_soon) {
    end();
  }
}

void http_connection::end() {
  if (phase_ == phase::closed) return;
  const bool owed = phase_ == phase::answering;
  phase_ = phase::closed;
  owner_.loop_.disarm(deadline_);
  stream_.close();
  if (owed) owner_.handler_.abandoned(*this);
  came_back();
}

// The object is free for another client once nothing is under way and nobody is on its stack.
void http_connection::came_back() {
  if (!in_use_ || under_way_ > 0 || advancing_) return;
  in_use_ = false;
  in_.release();
  trim(out_);
  trim(body_);
  out_sent_ = 0;
  owner_.closed(*this);
}

// --- deadlines

void http_connection::arm(std::chrono::milliseconds after) {
  owner_.loop_.arm(deadline_, loop::coarse_now() + after.count());
}

void http_connection::on_deadline(timer_wheel::entry& e) {
  auto& self = *static_cast<http_connection*>(e.owner);
  // A request that was begun is told why it ends; a kept connection without one is not.
  if ((self.phase_ == phase::head && self.parser_.started()) || self.phase_ == phase::body) {
    if (self.out_.size() == self.out_sent_) {
      self.refuse(408, "the request took too long");
      return;
    }
  }
  self.end();
}

}  // namespace penstock::net
