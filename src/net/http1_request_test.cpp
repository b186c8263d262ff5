#include <string>

#include <gtest/gtest.h>

#include "net/http1.hpp"

namespace penstock::net::http1 {
namespace {

struct parsed {
  parse_status status = parse_status::need_more;
  request_head head;
  parse_error error;
  std::size_t consumed = 0;
};

parsed parse(std::string_view text, limits l = {}) {
  parsed p;
  request_parser parser(l);
  p.status = parser.parse(text, p.head);
  p.error = parser.error();
  p.consumed = parser.consumed();
  return p;
}

// Views of a head are what the policy and the gateway work on.
TEST(RequestParser, TakesAnOriginFormApart) {
  const std::string text =
      "POST /a/b?x=1&y HTTP/1.1\r\nHost: example.test:80\r\nContent-Length: 5\r\n"
      "X-Empty:\r\nX-A: \t a b \t\r\n\r\nhello";
  const parsed p = parse(text);
  ASSERT_EQ(p.status, parse_status::complete) << p.error.reason;
  EXPECT_EQ(p.consumed, text.size() - 5);
  EXPECT_EQ(p.head.method, "POST");
  EXPECT_EQ(p.head.form, target_form::origin);
  EXPECT_EQ(p.head.path, "/a/b");
  EXPECT_EQ(p.head.query, "x=1&y");
  EXPECT_TRUE(p.head.has_query);
  EXPECT_EQ(p.head.authority, "example.test:80");
  EXPECT_EQ(p.head.body, framing::content_length);
  EXPECT_EQ(p.head.content_length, 5U);
  EXPECT_TRUE(p.head.keep_alive);
  ASSERT_EQ(p.head.fields.size(), 4U);
  EXPECT_EQ(p.head.fields[2].value, "");
  EXPECT_EQ(p.head.fields[3].value, "a b");
}

// A limit that counts by host must count what the target names, not what Host pretends.
TEST(RequestParser, LetsTheAbsoluteFormReplaceHost) {
  const parsed p = parse("GET HTTP://a.test?q HTTP/1.1\r\nHost: b.test\r\n\r\n");
  ASSERT_EQ(p.status, parse_status::complete) << p.error.reason;
  EXPECT_EQ(p.head.form, target_form::absolute);
  EXPECT_EQ(p.head.authority, "a.test");
  EXPECT_EQ(p.head.path, "/");
  EXPECT_EQ(p.head.query, "q");
}

// An absolute OPTIONS without path asks about the whole server (RFC 9112 3.2.4).
TEST(RequestParser, GivesAnAbsoluteOptionsWithoutPathTheAsteriskForm) {
  EXPECT_EQ(parse("OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\n").head.form, target_form::asterisk);
  EXPECT_EQ(parse("OPTIONS http://a/ HTTP/1.1\r\nHost: a\r\n\r\n").head.form,
            target_form::absolute);
  EXPECT_EQ(parse("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").head.form, target_form::asterisk);
}

struct refusal_row {
  const char* name;
  const char* text;
  int status;
};

// Each row is a way in which two parsers could come to disagree about a request.
TEST(RequestParser, RefusesEachIllFormedHeadWithItsStatus) {
  const refusal_row rows[] = {
      {"connect", "CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 501},
      {"version 0.9", "GET / HTTP/0.9\r\n\r\n", 505},
      {"two-digit minor", "GET / HTTP/1.10\r\nHost: a\r\n\r\n", 400},
      {"no version", "GET /\r\nHost: a\r\n\r\n", 400},
      {"space in target", "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"leading space", " GET / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"8-bit octet in path", "GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"quote in query", "GET /?\" HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"fragment in query", "GET /?a#b HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"escaped DEL", "GET /%7f HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"userinfo in target", "GET http://u@a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"no authority in target", "GET http:/// HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"relative target", "GET a HTTP/1.1\r\nHost: a\r\n\r\n", 400},
      {"line without colon", "GET / HTTP/1.1\r\nHost: a\r\nX\r\n\r\n", 400},
      {"fold on first field", "GET / HTTP/1.1\r\n Host: a\r\n\r\n", 400},
      {"two equal Hosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400},
      {"length 2^63", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775808\r\n\r\n",
       400},
      {"length 2^64 + 5",
       "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551621\r\n\r\n", 400},
      {"equal lengths in a list", "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\n", 400},
      {"length as option", "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Content-Length\r\n\r\n",
       400},
      {"option no token", "GET / HTTP/1.1\r\nHost: a\r\nConnection: a b\r\n\r\n", 400},
      {"expectation", "POST / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n", 417},
      {"empty expectation", "POST / HTTP/1.1\r\nHost: a\r\nExpect:\r\n\r\n", 417},
      {"bad Host under absolute form", "GET http://a/ HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
      {"absolute form without Host", "GET http://a/ HTTP/1.1\r\n\r\n", 400},
  };
  for (const refusal_row& row : rows) {
    const parsed p = parse(row.text);
    EXPECT_EQ(p.status, parse_status::bad) << row.name;
    EXPECT_EQ(p.error.status, row.status) << row.name << ": " << p.error.reason;
  }
}

struct authority_row {
  const char* text;
  bool good;
};

// Host chooses the limit, so its grammar is not negotiable.
TEST(RequestParser, HoldsHostToItsGrammar) {
  const authority_row rows[] = {
      {"a", true},
      {"a:", true},
      {"a:0", true},
      {"a:65535", true},
      {"127.0.0.1", true},
      {"[::1]", true},
      {"[::ffff:1.2.3.4]:8", true},
      {"a_b", true},
      {"%61", true},
      {"a.b.", true},
      {"xn--a", true},
      {"a:65536", false},
      {"a:000080", false},
      {":80", false},
      {"a:b:1", false},
      {"::1", false},
      {"[::1", false},
      {"[]", false},
      {"[1.2.3.4]", false},
      {"[fe80::1%25eth0]", false},
      {"[::1]x", false},
      {"a/b", false},
      {"a@b", false},
      {"a?b", false},
      {"%00", false},
      {"%6", false},
      {"a,b", false},
      {"\xc3\xa9", false},
      {"[v1.x]", false},
      {"a\tb", false},
  };
  for (const authority_row& row : rows) {
    const parsed p = parse("GET / HTTP/1.1\r\nHost: " + std::string(row.text) + "\r\n\r\n");
    EXPECT_EQ(p.status == parse_status::complete, row.good) << row.text;
  }
}

struct persistence_row {
  const char* name;
  const char* head;
  bool keep_alive;
};

// A connection that one side keeps and the other drops is where requests get mixed up.
TEST(RequestParser, ReadsPersistenceFromVersionAndConnection) {
  const persistence_row rows[] = {
      {"1.1 default", "GET / HTTP/1.1\r\nHost: a\r\n\r\n", true},
      {"1.1 close", "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n", false},
      {"1.0 default", "GET / HTTP/1.0\r\n\r\n", false},
      {"1.0 keep-alive", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
      {"1.0 both", "GET / HTTP/1.0\r\nConnection: keep-alive\r\nConnection: close\r\n\r\n", false},
      {"1.2 is 1.1", "GET / HTTP/1.2\r\nHost: a\r\n\r\n", true},
  };
  for (const persistence_row& row : rows) {
    const parsed p = parse(row.head);
    ASSERT_EQ(p.status, parse_status::complete) << row.name << p.error.reason;
    EXPECT_EQ(p.head.keep_alive, row.keep_alive) << row.name;
  }
}

// A tunnel opens only when both halves of the upgrade are there and the version knows it.
TEST(RequestParser, ReportsAnUpgradeOnlyWithItsConnectionOption) {
  const std::string host = " HTTP/1.1\r\nHost: a\r\n";
  EXPECT_TRUE(parse("GET /" + host + "Connection: Upgrade\r\nUpgrade: x\r\n\r\n").head.upgrade);
  EXPECT_FALSE(parse("GET /" + host + "Upgrade: x\r\n\r\n").head.upgrade);
  EXPECT_FALSE(parse("GET /" + host + "Connection: upgrade\r\n\r\n").head.upgrade);
  EXPECT_FALSE(parse("GET / HTTP/1.0\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n").head.upgrade);
}

// 100 Continue makes sense only when a body is to come.
TEST(RequestParser, ExpectsContinueOnlyAheadOfABody) {
  const std::string head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-Continue\r\n";
  EXPECT_TRUE(parse(head + "Content-Length: 1\r\n\r\n").head.expect_continue);
  EXPECT_TRUE(parse(head + "Transfer-Encoding: chunked\r\n\r\n").head.expect_continue);
  EXPECT_FALSE(parse(head + "Content-Length: 0\r\n\r\n").head.expect_continue);
  EXPECT_FALSE(parse(head + "\r\n").head.expect_continue);
}

// HTTP/1.0 has no expectations: the field is ignored there, whatever it says (RFC 9110 10.1.1).
TEST(RequestParser, IgnoresExpectationsOfHttp10) {
  for (const char* value : {"100-continue", "200-ok"}) {
    const parsed p =
        parse("POST / HTTP/1.0\r\nContent-Length: 1\r\nExpect: " + std::string(value) + "\r\n\r\n");
    EXPECT_EQ(p.status, parse_status::complete) << value;
    EXPECT_FALSE(p.head.expect_continue) << value;
  }
}

// A parser serves all messages of a connection, one after another.
TEST(RequestParser, StartsAfreshAfterReset) {
  request_parser parser;
  request_head head;
  ASSERT_EQ(parser.parse("POST /first HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n", head),
            parse_status::complete);
  parser.reset();
  EXPECT_FALSE(parser.started());
  ASSERT_EQ(parser.parse("GET /second?q HTTP/1.1\r\nHost: b\r\n\r\n", head),
            parse_status::complete);
  EXPECT_EQ(head.path, "/second");
  EXPECT_EQ(head.authority, "b");
  EXPECT_EQ(head.body, framing::none);
  EXPECT_EQ(head.content_length, 0U);
  EXPECT_EQ(head.fields.size(), 1U);
  parser.reset();
  EXPECT_EQ(parser.parse("BAD\r\n", head), parse_status::bad);
  parser.reset();
  EXPECT_EQ(parser.parse("OPTIONS * HTTP/1.0\r\n\r\n", head), parse_status::complete);
  EXPECT_FALSE(head.has_query);
  EXPECT_EQ(head.authority, "");
}

// The bounds hold to the octet, whether the excess has arrived or not.
TEST(RequestParser, EnforcesItsLimitsToTheOctet) {
  const limits l{.request_line_max = 20, .head_max = 60, .fields_max = 3};
  const auto line = [](std::size_t n) { return "GET /" + std::string(n - 14, 'a') + " HTTP/1.1"; };
  EXPECT_EQ(parse(line(20) + "\r\nHost: a\r\n\r\n", l).status, parse_status::complete);
  EXPECT_EQ(parse(line(21) + "\r\nHost: a\r\n\r\n", l).error.status, 414);
  EXPECT_EQ(parse(line(21), l).error.status, 414);
  EXPECT_EQ(parse(line(20), l).status, parse_status::need_more);
  const auto head = [&](std::size_t n) {
    return line(20) + "\r\nHost: a\r\nX: " + std::string(n - 38, 'v') + "\r\n\r\n";
  };
  EXPECT_EQ(parse(head(60), l).status, parse_status::complete);
  EXPECT_EQ(parse("\r\n\r\n" + head(60), l).status, parse_status::complete);
  EXPECT_EQ(parse(head(61), l).error.status, 431);
  EXPECT_EQ(parse(line(20) + "\r\nHost: a\r\nX: " + std::string(60, 'v'), l).error.status, 431);
  EXPECT_EQ(parse("GET / HTTP/1.1\r\nHost: a\r\nA:\r\nB:\r\n\r\n", l).status,
            parse_status::complete);
  EXPECT_EQ(parse("GET / HTTP/1.1\r\nHost: a\r\nA:\r\nB:\r\nC:\r\n\r\n", l).error.status, 431);
}

// Noise must not hold a connection until the head deadline.
TEST(RequestParser, RefusesAControlOctetBeforeTheLineEnds) {
  EXPECT_EQ(parse("\x16\x03\x01").error.status, 400);
  EXPECT_EQ(parse("GET / HTTP/1.1\r\nHost: a\r\nX: a\nb").error.status, 400);
}

// The buffer of a connection may move while a head trickles in; views must follow it.
TEST(RequestParser, GivesViewsIntoTheLastBuffer) {
  const std::string text = "GET /p HTTP/1.1\r\nHost: a\r\n\r\n";
  request_parser parser;
  request_head head;
  EXPECT_FALSE(parser.started());
  for (std::size_t n = 0; n < text.size(); ++n) {
    const std::string moved = text.substr(0, n);
    ASSERT_EQ(parser.parse(moved, head), parse_status::need_more) << n;
    ASSERT_EQ(parser.started(), n > 0);
  }
  ASSERT_EQ(parser.parse(text, head), parse_status::complete);
  for (const std::string_view v : {head.method, head.path, head.authority, head.fields[0].name}) {
    EXPECT_GE(v.data(), text.data());
    EXPECT_LE(v.data() + v.size(), text.data() + text.size());
  }
  parser.reset();
  EXPECT_FALSE(parser.started());
}

// The vector of fields is the only memory that grows; a kept-alive connection must reuse it.
TEST(RequestParser, ReusesTheFieldVector) {
  request_parser parser;
  request_head head;
  const std::string text = "GET / HTTP/1.1\r\nHost: a\r\nA: 1\r\nB: 2\r\n\r\n";
  ASSERT_EQ(parser.parse(text, head), parse_status::complete);
  const field* const first = head.fields.data();
  EXPECT_EQ(head.fields.capacity(), 3U);
  for (int i = 0; i < 3; ++i) {
    parser.reset();
    ASSERT_EQ(parser.parse(text, head), parse_status::complete);
    EXPECT_EQ(head.fields.data(), first);
  }
}

// Names with '_' reach the gateway as they are, which drops them by this helper.
TEST(RequestParser, ReportsUnderscoreNamesForTheGatewayToDrop) {
  const parsed p = parse("GET / HTTP/1.1\r\nHost: a\r\nContent_Length: 9\r\n\r\n");
  ASSERT_EQ(p.status, parse_status::complete);
  EXPECT_EQ(p.head.body, framing::none);
  EXPECT_TRUE(has_underscore(p.head.fields[1].name));
  EXPECT_FALSE(has_underscore("Content-Length"));
}

// What an intermediary removes is the fixed set and whatever Connection names.
TEST(RequestParser, KnowsWhatStaysOnOneHop) {
  EXPECT_TRUE(hop_by_hop("tE"));
  EXPECT_TRUE(hop_by_hop("Transfer-Encoding"));
  EXPECT_FALSE(hop_by_hop("Content-Length"));
  const field fields[] = {{"Connection", "close, X-Foo"}, {"X-Foo", "1"}, {"connection", ",Bar"}};
  EXPECT_TRUE(named_in_connection(fields, "x-foo"));
  EXPECT_TRUE(named_in_connection(fields, "bar"));
  EXPECT_FALSE(named_in_connection(fields, "foo"));
  EXPECT_FALSE(named_in_connection(fields, ""));
}

}  // namespace
}  // namespace penstock::net::http1
