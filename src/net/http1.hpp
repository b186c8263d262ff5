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
#include "net/http1_scan.hpp"  // limits

namespace penstock::net::http1 {

enum class framing : std::uint8_t {
  none,            // no body at all
  content_length,  // exactly `content_length` octets
  chunked,
  until_close  // responses only
};

enum class target_form : std::uint8_t { origin, absolute, asterisk };

// All views point into the buffer given to parse() and into nothing else.
struct request_head {
  std::string_view method;
  target_form form = target_form::origin;
  // Up to '?', as sent. "*" in asterisk form, "/" for an empty absolute path. An absolute OPTIONS
  // with neither path nor query has asterisk form with path "/": what goes on is "*" (RFC
  // 9112 3.2.4).
  std::string_view path;
  std::string_view query;  // after '?', without it; empty and absent differ by has_query
  bool has_query = false;
  std::string_view authority;  // of the absolute form if there is one, else the Host field
  int version_minor = 1;       // 0 or 1
  std::vector<field> fields;   // all, in order, hop-by-hop ones included
  framing body = framing::none;
  std::uint64_t content_length = 0;
  bool keep_alive = true;        // what the client allows after this message
  bool expect_continue = false;  // a body follows and the client may wait for 100
  bool upgrade = false;          // Connection: upgrade together with an Upgrade field
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
  int status = 400;         // what a server answers: 400, 414, 417, 431, 501, 505
  const char* reason = "";  // a static sentence for the log
};

// Parses one request head from the front of `buffer`, which holds everything received so far of
// this message. Call again with more octets after need_more; scanning resumes where it stopped.
class request_parser {
 public:
  explicit request_parser(limits l = {}) : limits_(l) {}
  parse_status parse(std::string_view buffer, request_head& out);
  [[nodiscard]] std::size_t consumed() const noexcept { return consumed_; }  // after complete
  [[nodiscard]] parse_error error() const noexcept { return error_; }        // after bad
  [[nodiscard]] bool started() const noexcept { return scan_.started(); }    // any octet seen
  void reset() noexcept;  // for the next message of the connection

 private:
  static constexpr std::size_t leading_empty_lines_max = 8;

  limits limits_;
  head_scan scan_{leading_empty_lines_max};
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
  head_scan scan_{0};
  std::size_t consumed_ = 0;
  parse_error error_{.status = 502, .reason = ""};
};

// Takes the body apart: each call consumes from the front of `in` and yields at most one run of
// content octets (a view into `in`, no copy). Chunk extensions and trailers are checked and
// dropped; a trailer that names a framing or routing field breaks the body.
class body_reader {
 public:
  // Octets of all extensions of a body together, and of its trailer section with its empty line.
  static constexpr std::uint32_t extensions_max = 4096;
  static constexpr std::uint32_t trailers_max = 16384;

  // content_length counts for framing::content_length only.
  void start(framing f, std::uint64_t content_length = 0) noexcept;

  struct step {
    std::size_t consumed = 0;  // octets of `in` that are dealt with, `data` included
    std::string_view data;     // content; may be empty
    bool done = false;         // the body is complete; what follows in `in` is the next message
    bool bad = false;          // the framing is broken: close; nothing more comes out
  };
  // A step without data, done or bad has consumed all of `in`: come back with more octets.
  step next(std::string_view in) noexcept;
  // The peer closed. True when that is a proper end (until_close, or already done).
  [[nodiscard]] bool finish() const noexcept;

 private:
  enum class at : std::uint8_t {
    done,
    data,
    until_close,
    size,
    size_digits,
    ext_space,
    ext_name_start,
    ext_name,
    ext_name_space,
    ext_value_start,
    ext_value,
    ext_quoted,
    ext_quoted_pair,
    ext_quoted_end,
    size_lf,
    data_cr,
    data_lf,
    trailer_start,
    trailer_name,
    trailer_value,
    trailer_lf,
    end_lf,
    broken
  };
  void step_octet(char c) noexcept;
  void step_size(char c) noexcept;
  void step_extension(char c) noexcept;
  void step_trailer(char c) noexcept;
  void after_extension_part(char c, at on_space) noexcept;
  void match_trailer_name(char c) noexcept;

  at at_ = at::done;
  framing framing_ = framing::none;
  std::uint8_t digits_ = 0;       // of the chunk size so far
  std::uint8_t candidates_ = 0;   // bit n: forbidden trailer name n fits so far
  std::uint64_t left_ = 0;        // octets of the run of content still to come
  std::uint32_t extensions_ = 0;  // octets so far
  std::uint32_t trailers_ = 0;    // octets so far
  std::uint32_t name_size_ = 0;   // octets of the trailer's name so far
};

// True for the fields that never cross an intermediary, whatever Connection says (RFC 9110 7.6.1).
[[nodiscard]] bool hop_by_hop(std::string_view name) noexcept;

// True when `name` is a member of a Connection field among `fields`.
[[nodiscard]] bool named_in_connection(field_list fields, std::string_view name) noexcept;

// True when the name holds '_': many servers read `X_Forwarded_For` as `X-Forwarded-For`, so such
// fields are aliases that no rule sees. Parsers report them; an intermediary drops them.
[[nodiscard]] bool has_underscore(std::string_view name) noexcept;

}  // namespace penstock::net::http1
