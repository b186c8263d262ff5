// HTTP/1 heads and bodies as sans-I/O machines (RFC 9112): strict, bounded, no allocation after the
// first request of a connection. Every parser gives the same result whole, octet by octet and split
// anywhere; nothing that is refused was ever partly accepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/field.hpp"

namespace penstock::net::http1 {

struct limits {
  std::size_t request_line_max = 8U << 10U;  // 414 above
  std::size_t head_max = 16U << 10U;         // 431 above, request line included
  std::size_t fields_max = 100;              // 431 above
};

enum class framing : std::uint8_t {
  none,            // no body at all
  content_length,  // exactly `content_length` octets
  chunked,
  until_close      // responses only
};

enum class target_form : std::uint8_t { origin, absolute, asterisk };

// All views point into the buffer given to parse() and into nothing else.
struct request_head {
  std::string_view method;
  target_form form = target_form::origin;
  std::string_view path;       // up to '?', as sent; "*" in asterisk form; "/" for an empty absolute path
  std::string_view query;      // after '?', without it; empty and absent differ by has_query
  bool has_query = false;
  std::string_view authority;  // of the absolute form if there is one, else the Host field
  int version_minor = 1;       // 0 or 1
  std::vector<field> fields;   // all, in order, hop-by-hop ones included
  framing body = framing::none;
  std::uint64_t content_length = 0;
  bool keep_alive = true;      // what the client allows after this message
  bool expect_continue = false;
  bool upgrade = false;        // Connection: upgrade together with an Upgrade field
};

struct response_head {
  int status = 0;
  std::string_view reason;
  int version_minor = 1;
  std::vector<field> fields;
  framing body = framing::none;
  std::uint64_t content_length = 0;
  bool keep_alive = true;
};

enum class parse_status : std::uint8_t { complete, need_more, bad };

struct parse_error {
  int status = 400;        // what a server answers: 400, 414, 417, 431, 501, 505
  const char* reason = ""; // a static sentence for the log
};

// Parses one request head from the front of `buffer`, which holds everything received so far of this
// message. Call again with more octets after need_more; scanning resumes where it stopped.
class request_parser {
 public:
  explicit request_parser(limits l = {}) : limits_(l) {}
  parse_status parse(std::string_view buffer, request_head& out);
  [[nodiscard]] std::size_t consumed() const noexcept { return consumed_; }  // after complete
  [[nodiscard]] parse_error error() const noexcept { return error_; }        // after bad
  [[nodiscard]] bool started() const noexcept { return scanned_ > 0; }       // octets of a message seen
  void reset() noexcept;  // for the next message of the connection

 private:
  limits limits_;
  std::size_t scanned_ = 0;
  std::size_t consumed_ = 0;
  parse_error error_;
};

// The same for responses. `request_method` decides framing (HEAD has no body); interim responses
// (1xx) are returned like any other, with framing::none.
class response_parser {
 public:
  explicit response_parser(limits l = {}) : limits_(l) {}
  parse_status parse(std::string_view buffer, std::string_view request_method, response_head& out);
  [[nodiscard]] std::size_t consumed() const noexcept { return consumed_; }
  [[nodiscard]] parse_error error() const noexcept { return error_; }  // status is always 502
  void reset() noexcept;

 private:
  limits limits_;
  std::size_t scanned_ = 0;
  std::size_t consumed_ = 0;
  parse_error error_;
};

// Takes the body apart: each call consumes from the front of `in` and yields at most one run of
// content octets (a view into `in`, no copy). Chunk extensions and trailers are checked and dropped.
class body_reader {
 public:
  void start(framing f, std::uint64_t content_length = 0) noexcept;

  struct step {
    std::size_t consumed = 0;  // octets of `in` that are dealt with, `data` included
    std::string_view data;     // content; may be empty
    bool done = false;         // the body is complete; what follows in `in` is the next message
    bool bad = false;          // the framing is broken: close; nothing more comes out
  };
  step next(std::string_view in) noexcept;
  // The peer closed. True when that is a proper end (until_close, or already done).
  [[nodiscard]] bool finish() const noexcept;

 private:
  enum class at : std::uint8_t { done, data, until_close, size, size_digits, extension, quoted,
                                 quoted_pair, size_lf, data_cr, data_lf, trailer_start, trailer,
                                 trailer_lf, end_lf, broken };
  at at_ = at::done;
  framing framing_ = framing::none;
  std::uint64_t left_ = 0;
  std::uint32_t count_ = 0;  // digits of a size, octets of an extension, of a trailer section
};

// True for the fields that never cross an intermediary, whatever Connection says (RFC 9110 7.6.1).
[[nodiscard]] bool hop_by_hop(std::string_view name) noexcept;

// True when `name` is a member of a Connection field among `fields`.
[[nodiscard]] bool named_in_connection(field_list fields, std::string_view name) noexcept;

}  // namespace penstock::net::http1
