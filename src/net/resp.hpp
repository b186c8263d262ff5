// The Redis protocol (RESP2 and RESP3), without I/O: one reader and one set of writers for the
// store that speaks to Redis and the listener that speaks like it. Every length is bounded before
// anything is kept, so a hostile peer costs no more memory than the limits say. One object per
// connection side; not thread-safe. Source: redis.io, "Redis serialization protocol".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::net::resp {

enum class type : std::uint8_t {
  simple_string,  // +
  error,          // - and !
  integer,        // :
  bulk_string,    // $ and =, the latter without its format
  array,          // *
  null,           // _, $-1 and *-1
  boolean,        // #
  real,           // , as text
  big_number,     // ( as text
  map,            // %
  set,            // ~
  push            // >
};

// One value of the tree, in the order in which it is written: an aggregate stands before its
// elements, which are one deeper.
struct node {
  type kind = type::null;
  std::uint8_t depth = 0;
  std::int64_t number = 0;  // integer, boolean (0, 1); aggregates: values directly inside, so twice
                            // the pairs of a map
  std::string_view text;    // strings, errors, real, big_number; a view into the buffer
};

// Octets unless said. All inclusive.
struct limits {
  std::size_t depth_max = 8;                      // aggregates around a value
  std::size_t line_max = std::size_t{64} << 10U;  // simple strings and errors, without CRLF
  std::size_t bulk_max = std::size_t{1} << 20U;
  std::size_t elements_max = 1024;                // of one aggregate; pairs count twice
  std::size_t nodes_max = 8192;                   // of one value, itself included
  std::size_t value_max = std::size_t{1} << 21U;  // one whole value on the wire
};

enum class read_status : std::uint8_t { complete, need_more, bad };

// Reads one value from the front of a growing buffer. Attributes (|) are checked and dropped.
// Streamed strings and aggregates, which no server sends, are refused.
class reader {
 public:
  explicit reader(limits l = {}) : limits_(l) {}

  // `buffer` starts at the same octet in every call until complete; it may have moved. Octets are
  // looked at once however the input is split. After complete: consumed(), nodes(), then reset().
  read_status read(std::string_view buffer);

  [[nodiscard]] std::size_t consumed() const noexcept { return pos_; }           // after complete
  [[nodiscard]] std::span<const node> nodes() const noexcept { return nodes_; }  // after complete
  [[nodiscard]] const char* problem() const noexcept { return problem_; }        // after bad
  void reset() noexcept;  // keeps its memory, so a warm reader allocates nothing

 private:
  struct range {
    std::size_t begin = 0;
    std::size_t size = 0;
  };
  struct frame {
    std::size_t left = 0;   // values still to come
    std::size_t first = 0;  // an attribute: the node to cut back to
    bool attribute = false;
  };

  read_status bad(const char* why) noexcept;
  read_status step(std::string_view buffer);
  read_status read_line_value(char kind, std::string_view line, std::size_t begin);
  read_status open(type kind, std::string_view digits, bool attribute);
  read_status read_bulk(std::string_view buffer);
  void push(type kind, std::int64_t number, range text);
  void close_finished() noexcept;

  limits limits_;
  std::size_t pos_ = 0;      // the next value or part begins here
  std::size_t scanned_ = 0;  // no line end before this octet
  bool in_bulk_ = false;     // pos_ is at the octets of a bulk string
  char bulk_kind_ = '$';
  std::size_t bulk_size_ = 0;
  bool done_ = false;
  std::vector<frame> frames_;
  std::vector<node> nodes_;
  std::vector<range> texts_;  // of nodes_, while the buffer may still move
  const char* problem_ = "";
};

// Writers append to `out`. `text` of simple strings and errors must hold no CR or LF: they become
// spaces, because a peer's bytes must not end a line of ours.
void append_array(std::string& out, std::size_t elements);
void append_map(std::string& out, std::size_t pairs);  // RESP3
void append_bulk(std::string& out, std::string_view octets);
void append_bulk(std::string& out, std::int64_t number);  // its decimal digits
void append_integer(std::string& out, std::int64_t number);
void append_simple(std::string& out, std::string_view text);
void append_error(std::string& out, std::string_view text);
void append_null(std::string& out, int protocol);  // 2: $-1, 3: _

}  // namespace penstock::net::resp
