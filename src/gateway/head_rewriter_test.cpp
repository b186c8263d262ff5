#include "gateway/head_rewriter.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace penstock::gateway {
namespace {

using net::http1::framing;

struct request {
  std::string text;
  net::http1::request_head head;
};

// What the upstream gets for `fields` (complete lines) of a GET from 192.0.2.7.
std::string forwarded(const std::string& fields, bool trusted = false,
                      const std::string& line = "GET /a?b=1 HTTP/1.1") {
  const std::string text = line + "\r\nHost: example.test\r\n" + fields + "\r\n";
  net::http1::request_parser parser;
  net::http1::request_head head;
  if (parser.parse(text, head) != net::http1::parse_status::complete) return "refused";
  const std::vector<std::string> untrusted = {"x-user-id"};
  std::string out;
  append_upstream_request(head,
                          {.path = head.path,
                           .authority = head.authority,
                           .peer = "192.0.2.7",
                           .client = trusted ? "203.0.113.9" : "192.0.2.7",
                           .peer_trusted = trusted,
                           .via = "penstock",
                           .upgrade = upgrade_allowed(head),
                           .untrusted_fields = untrusted},
                          out);
  return out;
}

const std::string untrusted_end =
    "X-Forwarded-For: 192.0.2.7\r\n"
    "X-Forwarded-Proto: http\r\n"
    "X-Forwarded-Host: example.test\r\n"
    "X-Real-IP: 192.0.2.7\r\n"
    "Via: 1.1 penstock\r\n";

struct row {
  const char* name;
  const char* fields;
  const char* kept;  // lines that reach the upstream between Host and ours
};

// Every class of field once: what an upstream must never see decides who may pass its own checks.
TEST(HeadRewriter, DropsWhatMustNotCrossFromAnUntrustedPeer) {
  const row rows[] = {
      {"plain", "Accept: a\r\nUser-Agent: u\r\n", "Accept: a\r\nUser-Agent: u\r\n"},
      {"same name twice keeps its order", "X-A: 1\r\nX-B: 2\r\nX-A: 3\r\n",
       "X-A: 1\r\nX-B: 2\r\nX-A: 3\r\n"},
      {"value untouched", "X-A: caf\xe9  x\t\r\n", "X-A: caf\xe9  x\r\n"},
      {"hop by hop",
       "Connection: keep-alive, TE\r\nKeep-Alive: timeout=5\r\nTE: gzip\r\nProxy-Connection: x\r\n",
       ""},
      {"named in Connection", "Connection: X-Foo\r\nX-Foo: 1\r\nX-Bar: 2\r\n", "X-Bar: 2\r\n"},
      {"naming ours strips nothing of ours", "Connection: close, X-Forwarded-For, X-Real-IP\r\n",
       ""},
      {"forwarding family",
       "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Prefix: /x\r\nForwarded: for=1.2.3.4\r\nX-Real-IP: "
       "1.2.3.4\r\n",
       ""},
      {"other claims",
       "X-Original-URL: /admin\r\nX-Rewrite-URL: /admin\r\nX-HTTP-Method-Override: "
       "DELETE\r\nTrue-Client-IP: 1.2.3.4\r\nCF-Connecting-IP: 1.2.3.4\r\n",
       ""},
      {"aliases with underscore", "X_Forwarded_For: 1.2.3.4\r\nContent_Length: 9\r\n", ""},
      {"identity of a trusted peer", "X-User-Id: 42\r\n", ""},
      {"upgrade without Connection", "Upgrade: websocket\r\n", ""},
      {"percent in a name is a name", "Transfer-%45ncoding: chunked\r\n",
       "Transfer-%45ncoding: chunked\r\n"},
      {"Via is kept", "Via: 1.0 first\r\n", "Via: 1.0 first\r\n"},
  };
  for (const auto& r : rows) {
    EXPECT_EQ(forwarded(r.fields), "GET /a?b=1 HTTP/1.1\r\nHost: example.test\r\n" +
                                       std::string(r.kept) + untrusted_end + "\r\n")
        << r.name;
  }
}

// Behind a load balancer its statements are the truth, and ours is one more hop.
TEST(HeadRewriter, ExtendsTheChainOfATrustedPeer) {
  EXPECT_EQ(forwarded("X-Forwarded-For: 203.0.113.9\r\nX-Forwarded-For: 10.0.0.1\r\n"
                      "X-Forwarded-Proto: https\r\nX-Forwarded-Host: api.test\r\nX-User-Id: 42\r\n"
                      "Forwarded: for=203.0.113.9\r\n",
                      true),
            "GET /a?b=1 HTTP/1.1\r\nHost: example.test\r\nX-Forwarded-Proto: https\r\n"
            "X-Forwarded-Host: api.test\r\nX-User-Id: 42\r\n"
            "X-Forwarded-For: 203.0.113.9, 10.0.0.1, 192.0.2.7\r\nX-Real-IP: 203.0.113.9\r\n"
            "Forwarded: for=203.0.113.9, for=192.0.2.7;proto=http\r\nVia: 1.1 penstock\r\n\r\n");
}

// Exactly one framing field, in our spelling, whatever the client's spelling was.
TEST(HeadRewriter, WritesOneCanonicalFraming) {
  const auto end_of = [](const std::string& fields) {
    const auto out = forwarded(fields, false, "POST /a HTTP/1.1");
    return out.substr(out.find("Via:"));
  };
  EXPECT_EQ(end_of("Content-Length: 005\r\n"), "Via: 1.1 penstock\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(end_of("tRaNsFeR-eNcOdInG: cHuNkEd\r\n"),
            "Via: 1.1 penstock\r\nTransfer-Encoding: chunked\r\n\r\n");
  EXPECT_EQ(end_of(""), "Via: 1.1 penstock\r\nContent-Length: 0\r\n\r\n");
}

// An upgrade crosses only as an upgrade; h2c would let requests through that no limit sees.
TEST(HeadRewriter, AsksForAnUpgradeButNeverForHttp2) {
  EXPECT_NE(forwarded("Connection: Upgrade\r\nUpgrade: websocket\r\n")
                .find("Connection: upgrade\r\nUpgrade: websocket\r\n"),
            std::string::npos);
  EXPECT_EQ(
      forwarded("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n"),
      "GET /a?b=1 HTTP/1.1\r\nHost: example.test\r\n" + untrusted_end + "\r\n");
}

std::string answered(const std::string& head_text, response_facts facts) {
  net::http1::response_parser parser;
  net::http1::response_head head;
  if (parser.parse(head_text, "GET", head) != net::http1::parse_status::complete) return "refused";
  facts.date = "Sun, 06 Nov 1994 08:49:37 GMT";
  std::string out;
  append_client_response(head, facts, out);
  return out;
}

// The client must not learn of the upstream's connection, and must learn of its limits.
TEST(HeadRewriter, RebuildsTheResponseHead) {
  EXPECT_EQ(answered("HTTP/1.1 200 OK\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 5\r\n"
                     "Content-Length: 2\r\nX-RateLimit-Limit: 9\r\nRetry-After: 5\r\n"
                     "Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n",
                     {.framing = body_framing::length,
                      .length = 2,
                      .decision_fields = "X-RateLimit-Limit: 100\r\nRetry-After: 1\r\n"}),
            "HTTP/1.1 200 OK\r\nRetry-After: 5\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "X-RateLimit-Limit: 100\r\nRetry-After: 1\r\nContent-Length: 2\r\n\r\n");
}

// A 1.0 client knows no chunks and keeps a connection only if told.
TEST(HeadRewriter, SpeaksToOldClientsInTheirTerms) {
  const std::string head = "HTTP/1.1 200 OK\r\nDate: x\r\nContent-Length: 2\r\n\r\n";
  EXPECT_EQ(answered(head, {.framing = body_framing::length, .length = 2, .client_minor = 0}),
            "HTTP/1.1 200 OK\r\nDate: x\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(
      answered(head, {.framing = body_framing::until_close, .client_minor = 0, .close = true}),
      "HTTP/1.1 200 OK\r\nDate: x\r\nConnection: close\r\n\r\n");
}

// 1xx and 204 have no length; HEAD and 304 tell one without a body.
TEST(HeadRewriter, TellsALengthOnlyWhereOneMayBe) {
  EXPECT_EQ(answered("HTTP/1.1 204 No Content\r\nDate: x\r\nContent-Length: 5\r\n\r\n", {}),
            "HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n");
  EXPECT_EQ(answered("HTTP/1.1 304 Not Modified\r\nDate: x\r\nETag: \"a\"\r\n\r\n",
                     {.framing = body_framing::length_no_body, .length = 7}),
            "HTTP/1.1 304 Not Modified\r\nDate: x\r\nETag: \"a\"\r\nContent-Length: 7\r\n\r\n");
}

// A refusal is written for every refused request of an attack: it must be complete and exact.
TEST(HeadRewriter, WritesOwnAnswers) {
  std::string out;
  append_local_answer({.status = 429,
                       .fields = "Retry-After: 3\r\n",
                       .content_type = "application/json",
                       .body = "{}\n",
                       .date = "D"},
                      out);
  EXPECT_EQ(out,
            "HTTP/1.1 429 Too Many Requests\r\nDate: D\r\nRetry-After: 3\r\n"
            "Content-Type: application/json\r\nContent-Length: 3\r\n\r\n{}\n");
  out.clear();
  append_local_answer({.status = 503,
                       .content_type = "text/plain",
                       .body = "busy",
                       .date = "D",
                       .close = true,
                       .head_request = true},
                      out);
  EXPECT_EQ(out,
            "HTTP/1.1 503 Service Unavailable\r\nDate: D\r\nContent-Type: text/plain\r\n"
            "Content-Length: 4\r\nConnection: close\r\n\r\n");
}

}  // namespace
}  // namespace penstock::gateway
