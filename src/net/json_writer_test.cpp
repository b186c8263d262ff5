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

}  // namespace
}  // namespace penstock::net
