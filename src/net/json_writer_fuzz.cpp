// Whatever the bytes: one line without control octets, which an independent parser reads, and which
// gives valid UTF-8 texts back unchanged.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <boost/json/src.hpp>

#include "net/json_writer.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::string line;
  penstock::net::json_writer(line).begin_object().member(text, text).end_object();
  for (const char c : line) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) std::abort();
  }
  boost::system::error_code failed;
  const auto read = boost::json::parse(line, failed);
  if (failed || read.as_object().size() != 1) std::abort();
  const std::string_view back = read.as_object().begin()->value().as_string();

  // Valid as it came: it must come back the same.
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) return 0;
    quoted += c;
  }
  quoted += '"';
  const auto plain = boost::json::parse(quoted, failed);
  if (!failed && plain.as_string() != back) std::abort();
  return 0;
}
