// Writes JSON into a string: bodies of faces and log lines. Commas and escapes are its business;
// nesting is the caller's. Bytes from clients are safe in it: control characters, DEL, C1 controls
// and <, >, & are escaped, invalid UTF-8 becomes U+FFFD, so a line stays one line in a log and a
// text stays a text in a page. Not thread-safe. Source: RFC 8259.
//
// Whole values arrive: what was written is in the text once the outermost object or array is ended,
// or the writer is gone.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text_writer.hpp"

namespace penstock::net {

// Appends `text` as it stands between the quotes of a JSON string.
void append_json_escaped(std::string& out, std::string_view text);

class json_writer {
 public:
  // Appends to `out`, which must outlive the writer.
  explicit json_writer(std::string& out) noexcept : out_(out), to_(out) {}

  json_writer& begin_object() { return open('{'); }
  json_writer& end_object() { return close('}'); }
  json_writer& begin_array() { return open('['); }
  json_writer& end_array() { return close(']'); }

  // Within an object, before its value.
  json_writer& key(std::string_view name);

  json_writer& value(std::string_view text);
  json_writer& value(const char* text) { return value(std::string_view(text)); }
  json_writer& value(bool truth);
  json_writer& value(std::integral auto number) {
    comma();
    to_.number(number);
    return *this;
  }
  // Not a number and infinities, which JSON does not have, become null.
  json_writer& value(double number);
  json_writer& null();

  template <class T>
  json_writer& member(std::string_view name, const T& v) {
    return key(name).value(v);
  }

 private:
  json_writer& open(char bracket);
  json_writer& close(char bracket);
  void comma();
  void quoted(std::string_view text);

  std::string& out_;
  text_writer to_;
  std::size_t depth_ = 0;
  bool first_ = true;  // nothing stands yet in the innermost container
  bool after_key_ = false;
};

}  // namespace penstock::net
