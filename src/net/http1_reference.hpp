// A decoder of chunked bodies that sees the whole text at once, written from RFC 9112 7.1 alone and
// as plainly as possible: what the body reader is compared with. Not for production.
#pragma once

#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>

#include "net/http1.hpp"

namespace penstock::net::http1::testing {

enum class verdict : std::uint8_t { done, bad, more };

class reference_decoder {
 public:
  explicit reference_decoder(std::string_view text) : text_(text) {}

  verdict run() {
    try {
      while (chunk()) {
      }
      trailers();
      return verdict::done;
    } catch (verdict v) {
      return v;
    }
  }

  std::string data;
  std::size_t at = 0;  // octets taken

 private:
  char peek() const { return at < text_.size() ? text_[at] : throw verdict::more; }
  static void require(bool good) {
    if (!good) throw verdict::bad;
  }
  void expect(char c) {
    require(peek() == c);
    ++at;
  }
  static bool token_octet(char c) {
    const auto o = static_cast<unsigned char>(c);
    return o < 0x80 && (std::isalnum(o) != 0 ||
                        std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
  }
  static bool text_octet(char c) {
    const auto o = static_cast<unsigned char>(c);
    return o == '\t' || (o >= 0x20 && o != 0x7f);
  }

  bool chunk() {
    std::uint64_t size = 0;
    int digits = 0;
    for (; std::isxdigit(static_cast<unsigned char>(peek())) != 0; ++at) {
      require(++digits <= 16);
      size = size * 16 + static_cast<std::uint64_t>(std::stoi(std::string(1, peek()), nullptr, 16));
      require(size < (std::uint64_t{1} << 63U));
    }
    require(digits > 0);
    extensions();
    expect('\n');
    if (size == 0) return false;
    for (; size > 0; --size, ++at) data += peek();
    expect('\r');
    expect('\n');
    return true;
  }

  // Extensions count against the bound together with the CR behind them.
  void take_extension() { require((++at, ++extension_octets_) <= body_reader::extensions_max); }
  bool blanks() {
    bool any = false;
    for (; peek() == ' ' || peek() == '\t'; any = true) take_extension();
    return any;
  }
  void token() {
    require(token_octet(peek()));
    while (token_octet(peek())) take_extension();
  }
  void quoted() {
    take_extension();
    while (peek() != '"') {
      if (peek() == '\\') take_extension();
      require(text_octet(peek()));
      take_extension();
    }
    take_extension();
  }
  void extensions() {
    if (peek() == '\r') {
      ++at;
      return;
    }
    bool blank = blanks();
    while (blank || peek() != '\r') {
      require(peek() == ';');
      take_extension();
      blanks();
      token();
      blank = blanks();
      if (peek() != '=') continue;
      take_extension();
      blanks();
      peek() == '"' ? quoted() : token();
      blank = blanks();
    }
    take_extension();
  }

  void take_trailer() { require((++at, ++trailer_octets_) <= body_reader::trailers_max); }
  void trailers() {
    while (peek() != '\r') {
      std::string name;
      for (; token_octet(peek()); take_trailer()) {
        name += static_cast<char>(std::tolower(static_cast<unsigned char>(peek())));
      }
      require(!name.empty() && peek() == ':');
      require(name != "content-length" && name != "transfer-encoding" && name != "host");
      for (take_trailer(); text_octet(peek());) take_trailer();
      line_end();
    }
    line_end();
  }
  void line_end() {
    require(peek() == '\r');
    take_trailer();
    require(peek() == '\n');
    take_trailer();
  }

  std::string_view text_;
  std::uint32_t extension_octets_ = 0;
  std::uint32_t trailer_octets_ = 0;
};

}  // namespace penstock::net::http1::testing
