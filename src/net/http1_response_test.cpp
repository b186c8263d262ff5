#include <string>

#include <gtest/gtest.h>

#include "net/http1.hpp"

namespace penstock::net::http1 {
namespace {

struct parsed {
  parse_status status = parse_status::need_more;
  response_head head;
  parse_error error;
};

parsed parse(std::string_view text, std::string_view method = "GET") {
  parsed p;
  response_parser parser;
  p.status = parser.parse(text, method, p.head);
  p.error = parser.error();
  return p;
}

struct framing_row {
  const char* name;
  const char* method;
  const char* text;
  framing body;
  bool keep_alive;
};

// Framing decides where the next answer on a pooled connection begins (RFC 9112 6.3).
TEST(ResponseParser, ChoosesTheFramingOfEachAnswer) {
  const framing_row rows[] = {
      {"length", "GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", framing::content_length,
       true},
      {"chunked", "GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", framing::chunked,
       true},
      {"close", "GET", "HTTP/1.1 200 OK\r\n\r\n", framing::until_close, false},
      {"head", "HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", framing::none, true},
      {"head, no length", "HEAD", "HTTP/1.1 200 OK\r\n\r\n", framing::none, true},
      {"lower-case head", "head", "HTTP/1.1 200 OK\r\n\r\n", framing::until_close, false},
      {"204", "GET", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", framing::none, true},
      {"304", "GET", "HTTP/1.1 304 \r\nContent-Length: 5\r\n\r\n", framing::none, true},
      {"100", "POST", "HTTP/1.1 100 Continue\r\n\r\n", framing::none, true},
      {"101", "GET", "HTTP/1.1 101 x\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", framing::none,
       true},
      {"1.0", "GET", "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n", framing::content_length,
       false},
      {"1.0 kept", "GET", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\n",
       framing::content_length, true},
      {"no reason", "GET", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\n", framing::content_length,
       true},
      {"space before colon", "GET", "HTTP/1.1 200 OK\r\nContent-Length \t: 5\r\n\r\n",
       framing::content_length, true},
  };
  for (const framing_row& row : rows) {
    const parsed p = parse(row.text, row.method);
    ASSERT_EQ(p.status, parse_status::complete) << row.name << ": " << p.error.reason;
    EXPECT_EQ(p.head.body, row.body) << row.name;
    EXPECT_EQ(p.head.keep_alive, row.keep_alive) << row.name;
  }
}

struct refusal_row {
  const char* name;
  const char* text;
};

// A broken upstream must become 502, never a guess.
TEST(ResponseParser, RefusesEachIllFormedHead) {
  const refusal_row rows[] = {
      {"empty line first", "\r\nHTTP/1.1 200 OK\r\n\r\n"},
      {"major version", "HTTP/2.0 200 OK\r\n\r\n"},
      {"lower case", "http/1.1 200 OK\r\n\r\n"},
      {"status 099", "HTTP/1.1 099 x\r\n\r\n"},
      {"status 600", "HTTP/1.1 600 x\r\n\r\n"},
      {"status of four digits", "HTTP/1.1 2000\r\n\r\n"},
      {"status of two digits", "HTTP/1.1 20 OK\r\n\r\n"},
      {"two spaces", "HTTP/1.1  200 OK\r\n\r\n"},
      {"control octet in reason", "HTTP/1.1 200 O\x01K\r\n\r\n"},
      {"bare LF", "HTTP/1.1 200 OK\nContent-Length: 0\n\n"},
      {"folded field", "HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"},
      {"equal lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n"},
      {"negative length", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"},
      {"gzip, chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"},
      {"both lengths on 304",
       "HTTP/1.1 304 x\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n"},
  };
  for (const refusal_row& row : rows) {
    const parsed p = parse(row.text);
    EXPECT_EQ(p.status, parse_status::bad) << row.name;
    EXPECT_EQ(p.error.status, 502) << row.name;
  }
}

// What is passed on to the client are these pieces.
TEST(ResponseParser, TakesAHeadApart) {
  const parsed p =
      parse("HTTP/1.1 418 I'm a  teapot\r\nA: 1\r\na: 2\r\nContent-Length: 0\r\n\r\nrest");
  ASSERT_EQ(p.status, parse_status::complete);
  EXPECT_EQ(p.head.status, 418);
  EXPECT_EQ(p.head.reason, "I'm a  teapot");
  ASSERT_EQ(p.head.fields.size(), 3U);
  EXPECT_EQ(p.head.fields[1].name, "a");
  EXPECT_EQ(p.head.fields[1].value, "2");
}

}  // namespace
}  // namespace penstock::net::http1
