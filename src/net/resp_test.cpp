#include "net/resp.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::net::resp {
namespace {

// The tree as text: kind, number and text of each value, indented by its depth.
std::string shape(const reader& r) {
  static constexpr const char* names[] = {"simple", "error", "integer", "bulk", "array", "null",
                                          "bool",   "real",  "big",     "map",  "set",   "push"};
  std::string out;
  for (const node& n : r.nodes()) {
    out += std::string(n.depth, ' ') + names[static_cast<int>(n.kind)] + " " +
           std::to_string(n.number) + " " + std::string(n.text) + "\n";
  }
  return out;
}

struct row {
  const char* name;
  std::string wire;
  const char* want;
};

const std::vector<row> good = {
    {"simple string", "+OK\r\n", "simple 0 OK\n"},
    {"empty simple string", "+\r\n", "simple 0 \n"},
    {"error", "-ERR no\r\n", "error 0 ERR no\n"},
    {"bulk error", "!6\r\nERR\r\nx\r\n", "error 0 ERR\r\nx\n"},
    {"integer", ":42\r\n", "integer 42 \n"},
    {"negative integer", ":-9223372036854775808\r\n", "integer -9223372036854775808 \n"},
    {"plus integer", ":+7\r\n", "integer 7 \n"},
    {"bulk string", "$3\r\na\r\n\r\n", "bulk 0 a\r\n\n"},
    {"empty bulk string", "$0\r\n\r\n", "bulk 0 \n"},
    {"null bulk string", "$-1\r\n", "null 0 \n"},
    {"null array", "*-1\r\n", "null 0 \n"},
    {"null", "_\r\n", "null 0 \n"},
    {"true", "#t\r\n", "bool 1 \n"},
    {"real", ",3.5e-7\r\n", "real 0 3.5e-7\n"},
    {"infinity", ",-inf\r\n", "real 0 -inf\n"},
    {"big number", "(-123456789012345678901234567890\r\n",
     "big 0 -123456789012345678901234567890\n"},
    {"verbatim", "=6\r\ntxt:ab\r\n", "bulk 0 ab\n"},
    {"empty array", "*0\r\n", "array 0 \n"},
    {"array", "*3\r\n:1\r\n$1\r\nx\r\n*1\r\n_\r\n",
     "array 3 \n integer 1 \n bulk 0 x\n array 1 \n  null 0 \n"},
    {"nested empties", "*2\r\n*0\r\n*0\r\n", "array 2 \n array 0 \n array 0 \n"},
    {"map", "%1\r\n+a\r\n:1\r\n", "map 2 \n simple 0 a\n integer 1 \n"},
    {"set", "~1\r\n+a\r\n", "set 1 \n simple 0 a\n"},
    {"push", ">1\r\n+a\r\n", "push 1 \n simple 0 a\n"},
    {"attribute before a value", "|1\r\n+k\r\n*1\r\n:9\r\n:1\r\n", "integer 1 \n"},
    {"attribute inside", "*2\r\n|1\r\n+k\r\n:9\r\n:1\r\n:2\r\n",
     "array 2 \n integer 1 \n integer 2 \n"},
    {"empty attribute", "|0\r\n:1\r\n", "integer 1 \n"},
};

// The client and the Redis-protocol door both stand on this reading.
TEST(RespReader, TakesEachTypeApart) {
  for (const row& r : good) {
    reader in;
    const std::string wire = r.wire + "+next\r\n";
    ASSERT_EQ(in.read(wire), read_status::complete) << r.name << in.problem();
    EXPECT_EQ(in.consumed(), r.wire.size()) << r.name;
    EXPECT_EQ(shape(in), r.want) << r.name;
  }
}

// The network splits where it likes and our buffer moves as it grows.
TEST(RespReader, DoesNotDependOnHowTheInputIsSplit) {
  for (const row& r : good) {
    reader in;
    for (std::size_t n = 0; n < r.wire.size(); ++n) {
      const std::string moved = r.wire.substr(0, n);
      ASSERT_EQ(in.read(moved), read_status::need_more) << r.name << " after " << n;
    }
    ASSERT_EQ(in.read(r.wire), read_status::complete) << r.name;
    EXPECT_EQ(shape(in), r.want) << r.name;
  }
}

// One reader serves a connection for its whole life.
TEST(RespReader, ReadsValueAfterValue) {
  const std::string wire = ":1\r\n*1\r\n:2\r\n";
  reader in;
  ASSERT_EQ(in.read(wire), read_status::complete);
  const std::string_view rest = std::string_view(wire).substr(in.consumed());
  in.reset();
  ASSERT_EQ(in.read(rest), read_status::complete);
  EXPECT_EQ(shape(in), "array 1 \n integer 2 \n");
}

struct bad_row {
  const char* name;
  std::string wire;
};

// A peer that breaks the protocol cannot be read on: each row must end the connection.
TEST(RespReader, RefusesWhatIsNotTheProtocol) {
  std::string deep;
  for (int i = 0; i < 9; ++i) deep += "*1\r\n";
  const bad_row rows[] = {
      {"unknown type", "?x\r\n"},
      {"NUL type", std::string(1, '\0') + "\r\n"},
      {"an HTTP answer", "HTTP/1.1 400 Bad Request\r\n"},
      {"CR without LF", "+a\rb\r\n"},
      {"LF without CR", "+a\nb\r\n"},
      {"integer without digits", ":\r\n"},
      {"integer with a tail", ":1x\r\n"},
      {"integer too large", ":9223372036854775808\r\n"},
      {"two signs", ":+-1\r\n"},
      {"length without digits", "$\r\n"},
      {"negative length", "$-2\r\n"},
      {"two gigabytes", "$2147483648\r\n"},
      {"just over the bulk limit", "$1048577\r\n"},
      {"bulk longer than said", "$1\r\nab\r\n"},
      {"bulk with CR but no LF", "$1\r\na\rb"},
      {"negative array", "*-2\r\n"},
      {"array over the limit", "*1025\r\n"},
      {"map over the limit", "%513\r\n"},
      {"streamed string", "$?\r\n"},
      {"streamed array", "*?\r\n"},
      {"nine levels", deep},
      {"null with content", "_x\r\n"},
      {"boolean", "#x\r\n"},
      {"real", ",abc\r\n"},
      {"empty real", ",\r\n"},
      {"big number", "(12a\r\n"},
      {"verbatim without a format", "=2\r\nab\r\n"},
      {"null of another type", "!-1\r\n"},
      {"endless line", "+" + std::string(70'000, 'a')},
  };
  for (const bad_row& r : rows) {
    reader in;
    EXPECT_EQ(in.read(r.wire), read_status::bad) << r.name;
    EXPECT_STRNE(in.problem(), "") << r.name;
    EXPECT_EQ(in.read(r.wire), read_status::bad) << r.name << ", again";
  }
}

// Without a bound on the whole, small parts would add up to any amount of memory.
TEST(RespReader, BoundsTheWholeValue) {
  std::string wire = "*1024\r\n";
  for (int i = 0; i < 1024; ++i) wire += "*8\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n:1\r\n";
  reader in;
  EXPECT_EQ(in.read(wire), read_status::bad);
  EXPECT_STREQ(in.problem(), "too many values");

  const std::string big = "$1048576\r\n" + std::string(1 << 20, 'x') + "\r\n";
  reader three;
  EXPECT_EQ(three.read("*3\r\n" + big + big + big), read_status::bad);
  EXPECT_STREQ(three.problem(), "value too large");

  std::string attributes;
  for (int i = 0; i < 200'000; ++i) attributes += "|1\r\n:1\r\n:1\r\n";
  reader endless;
  EXPECT_EQ(endless.read(attributes), read_status::bad);
}

// What we write must be what we read, or a store call could turn into another.
TEST(RespWriter, WritesWhatTheReaderReads) {
  std::string out;
  append_array(out, 7);
  append_bulk(out, std::string_view("a\r\n$9"));
  append_bulk(out, std::int64_t{-12});
  append_integer(out, 34);
  append_simple(out, "OK\r\nX");
  append_error(out, "ERR a\nb");
  append_null(out, 2);
  append_null(out, 3);
  reader in;
  ASSERT_EQ(in.read(out), read_status::complete) << in.problem();
  EXPECT_EQ(
      shape(in),
      "array 7 \n bulk 0 a\r\n$9\n bulk 0 -12\n integer 34 \n simple 0 OK  X\n error 0 ERR a b\n"
      " null 0 \n null 0 \n");
}

}  // namespace
}  // namespace penstock::net::resp
