#include "net/json_writer.hpp"

#include <cmath>
#include <string>

#include <gtest/gtest.h>

namespace penstock::net {
namespace {

// The shape of every kind of value, with the commas where they belong.
TEST(JsonWriter, WritesEveryKindOfValue) {
  std::string out;
  json_writer w(out);
  w.begin_object().member("a", 1).member("b", "x").member("c", true).member("d", 0.5);
  w.key("e").begin_array().value(-1).value(std::uint64_t{18446744073709551615U}).end_array();
  w.key("f").begin_object().end_object().key("g").null().key("h").begin_array().end_array();
  w.member("i", std::nan("")).member("j", std::string("s")).end_object();
  EXPECT_EQ(out, R"({"a":1,"b":"x","c":true,"d":0.5,"e":[-1,18446744073709551615],"f":{},"g":null,)"
                 R"("h":[],"i":null,"j":"s"})");
}

// What a client sends must not break out of a string, a log line or a page.
TEST(JsonWriter, EscapesWhatCouldBreakOut) {
  struct row {
    const char* name;
    std::string text;
    std::string want;
  };
  const row rows[] = {
      {"quote and backslash", "a\"b\\c", R"(a\"b\\c)"},
      {"line ends", "a\r\nb", R"(a\u000d\u000ab)"},
      {"escape and NUL", std::string("\x1b[31m\0x", 7), R"(\u001b[31m\u0000x)"},
      {"delete", "\x7f", R"(\u007f)"},
      {"C1 control", "\xc2\x9b", R"(\u009b)"},
      {"page", "</script>&", R"(\u003c/script\u003e\u0026)"},
      {"letters", "grün 水 😀", "grün 水 😀"},
      {"lone tail", "\x80z", R"(\ufffdz)"},
      {"overlong", "\xc0\xaf", R"(\ufffd\ufffd)"},
      {"surrogate", "\xed\xa0\x80", R"(\ufffd\ufffd\ufffd)"},
      {"cut", "\xe6\xb0", R"(\ufffd\ufffd)"},
      {"beyond", "\xf4\x90\x80\x80", R"(\ufffd\ufffd\ufffd\ufffd)"},
  };
  for (const row& r : rows) {
    std::string out;
    append_json_escaped(out, r.text);
    EXPECT_EQ(out, r.want) << r.name;
  }
}

// Texts are looked at in words of eight octets that overlap: each octet is found at each place of
// each length.
TEST(JsonWriter, EscapesAtEveryPlace) {
  const auto escaped = [](char c) -> std::string {
    if (c == '"' || c == '\\') return {'\\', c};
    if (c >= 0x20 && c < 0x7f && c != '<' && c != '>' && c != '&') return {c};
    if (static_cast<unsigned char>(c) >= 0x80) return "\\ufffd";
    constexpr std::string_view hex = "0123456789abcdef";
    return std::string("\\u00") + hex[static_cast<unsigned>(c) >> 4U] +
           hex[static_cast<unsigned>(c) & 15U];
  };
  for (std::size_t length = 1; length <= 27; ++length) {
    for (std::size_t at = 0; at < length; ++at) {
      for (int octet = 0; octet < 256; ++octet) {
        const char c = static_cast<char>(octet);
        std::string text(length, 'x');
        text[at] = c;
        std::string line;
        json_writer(line).begin_object().member(text, text).end_object();
        const std::string quoted =
            '"' + std::string(at, 'x') + escaped(c) + std::string(length - at - 1, 'x') + '"';
        ASSERT_EQ(line, '{' + quoted + ':' + quoted + '}') << octet << " at " << at;
      }
    }
  }
}

// The text is whole once the outermost container is ended, while the writer is still there.
TEST(JsonWriter, IsWholeAtTheEndOfTheOutermost) {
  std::string line;
  json_writer w(line);
  w.begin_object().key("a").begin_array();
  for (int i = 0; i < 1000; ++i) w.value(i);
  w.end_array().end_object();
  EXPECT_TRUE(line.ends_with(",999]}"));
}

}  // namespace
}  // namespace penstock::net
