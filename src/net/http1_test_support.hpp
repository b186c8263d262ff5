// Drives the HTTP/1 machines over a whole connection for tests and fuzz targets: delivers octets in
// given pieces, in a buffer that moves every time, and records what came out. Not for production.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "net/http1.hpp"

namespace penstock::net::http1::testing {

// A head with copies instead of views, in a form that two deliveries can be compared by.
struct owned_head {
  // Method, form, path, query with its '?' if there is one, authority; or status and reason.
  std::vector<std::string> start;
  std::vector<std::pair<std::string, std::string>> fields;
  int version_minor = 1;
  framing body = framing::none;
  std::uint64_t content_length = 0;
  bool keep_alive = true;
  bool expect_continue = false;
  bool upgrade = false;
  bool operator==(const owned_head&) const = default;
};

template <class Head>
void own_common(const Head& head, owned_head& o) {
  for (const field& f : head.fields) o.fields.emplace_back(f.name, f.value);
  o.version_minor = head.version_minor;
  o.body = head.body;
  o.content_length = head.content_length;
  o.keep_alive = head.keep_alive;
}

inline owned_head own(const request_head& head) {
  owned_head o;
  const char* const forms[] = {"origin", "absolute", "asterisk"};
  o.start = {std::string(head.method), forms[static_cast<int>(head.form)], std::string(head.path),
             head.has_query ? '?' + std::string(head.query) : std::string(),
             std::string(head.authority)};
  own_common(head, o);
  o.expect_continue = head.expect_continue;
  o.upgrade = head.upgrade;
  return o;
}

inline owned_head own(const response_head& head) {
  owned_head o;
  o.start = {std::to_string(head.status), std::string(head.reason)};
  own_common(head, o);
  return o;
}

struct message {
  owned_head head;
  std::string body;
  bool complete = false;
  bool operator==(const message&) const = default;
};

// What one side of a connection said.
struct transcript {
  std::vector<message> messages;
  int refused = 0;      // the status of the refusal that ended it
  std::string refusal;  // its reason
  std::string unread;   // octets that no message took: behind a close, a refusal or a partial head
  bool proper_end = false;  // were the connection closed now, nothing would be cut
  [[nodiscard]] std::size_t complete() const {
    std::size_t n = 0;
    for (const message& m : messages) n += m.complete ? 1U : 0U;
    return n;
  }
  bool operator==(const transcript&) const = default;
};

// Requests, one after another, until one is refused or ends the connection.
class request_side {
 public:
  explicit request_side(limits l = {}) : parser_(l) {}

  void feed(std::string_view more) {
    // A fresh allocation of the exact size: a stale view becomes a sanitizer report.
    std::string moved;
    moved.reserve(result_.unread.size() + more.size());
    moved.append(result_.unread).append(more);
    result_.unread = std::move(moved);
    while (!over_ && step()) {
    }
  }

  [[nodiscard]] transcript finish() {
    const bool in_body = !result_.messages.empty() && !result_.messages.back().complete;
    result_.proper_end = in_body ? reader_.finish() : result_.unread.empty() && !over_;
    return result_;
  }

 private:
  // Returns whether there may be more to do with what is there.
  bool step() {
    if (!in_body_) {
      request_head& head = head_;
      const parse_status status = parser_.parse(result_.unread, head);
      if (status == parse_status::need_more) return false;
      if (status == parse_status::bad)
        return refuse(parser_.error().status, parser_.error().reason);
      result_.messages.push_back({.head = own(head), .body = {}, .complete = false});
      keep_alive_ = head.keep_alive;
      reader_.start(head.body, head.content_length);
      result_.unread.erase(0, parser_.consumed());
      parser_.reset();
      in_body_ = true;
    }
    const body_reader::step s = reader_.next(result_.unread);
    result_.messages.back().body += s.data;
    result_.unread.erase(0, s.consumed);
    if (s.bad) return refuse(400, "body");
    if (s.done) {
      result_.messages.back().complete = true;
      in_body_ = false;
      over_ = !keep_alive_;
    }
    return s.done || !result_.unread.empty();
  }

  bool refuse(int status, const char* reason) {
    result_.refused = status;
    result_.refusal = reason;
    over_ = true;
    return false;
  }

  request_parser parser_;
  request_head head_;
  body_reader reader_;
  transcript result_;
  bool in_body_ = false;
  bool keep_alive_ = true;
  bool over_ = false;
};

// The answer to one request: interim responses and the final one; what follows stays unread.
class response_side {
 public:
  explicit response_side(std::string method, limits l = {})
      : method_(std::move(method)), parser_(l) {}

  void feed(std::string_view more) {
    std::string moved;
    moved.reserve(result_.unread.size() + more.size());
    moved.append(result_.unread).append(more);
    result_.unread = std::move(moved);
    while (!over_ && step()) {
    }
  }

  // The upstream closed, or no more octets are to come for now.
  [[nodiscard]] transcript finish() {
    result_.proper_end = final_ && reader_.finish();
    return result_;
  }

 private:
  bool step() {
    if (!final_) {
      const parse_status status = parser_.parse(result_.unread, method_, head_);
      if (status == parse_status::need_more) return false;
      if (status == parse_status::bad)
        return refuse(parser_.error().status, parser_.error().reason);
      final_ = head_.status >= 200;
      result_.messages.push_back({.head = own(head_), .body = {}, .complete = !final_});
      reader_.start(head_.body, head_.content_length);
      result_.unread.erase(0, parser_.consumed());
      parser_.reset();
      if (!final_) return true;
    }
    const body_reader::step s = reader_.next(result_.unread);
    result_.messages.back().body += s.data;
    result_.unread.erase(0, s.consumed);
    if (s.bad) return refuse(502, "body");
    result_.messages.back().complete = s.done;
    over_ = s.done;
    return !over_ && !result_.unread.empty();
  }

  bool refuse(int status, const char* reason) {
    result_.refused = status;
    result_.refusal = reason;
    over_ = true;
    return false;
  }

  std::string method_;
  response_parser parser_;
  response_head head_;
  body_reader reader_;
  transcript result_;
  bool final_ = false;
  bool over_ = false;
};

// Delivers `octets` in pieces of `piece` octets, or in two pieces cut at `cut`.
template <class Side>
transcript deliver(Side side, std::string_view octets, std::size_t piece) {
  for (std::size_t at = 0; at < octets.size(); at += piece) side.feed(octets.substr(at, piece));
  return side.finish();
}

template <class Side>
transcript deliver_cut(Side side, std::string_view octets, std::size_t cut) {
  side.feed(octets.substr(0, cut));
  side.feed(octets.substr(cut));
  return side.finish();
}

}  // namespace penstock::net::http1::testing
