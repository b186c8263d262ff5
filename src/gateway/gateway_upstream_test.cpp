// The gateway and its upstreams: what they may not do, which connection is taken, what is tried
// again, and what becomes of a request when either side leaves.
#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include "gateway/gateway_test_support.hpp"

namespace penstock::gateway {
namespace {

using namespace std::chrono_literals;

// Half a body is no request: the upstream must never take it for one.
TEST(Gateway, CutsTheUpstreamWhenTheClientStopsInABody) {
  fixture f;
  auto client = f.connect();
  client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello");
  client.half_close();
  EXPECT_TRUE(client.ends());
  EXPECT_TRUE(eventually([&] { return f.counts().in_flight == 0; }));
  EXPECT_TRUE(f.upstream.requests().empty());
}

// A client that gives up must not keep the upstream busy.
TEST(Gateway, DropsTheUpstreamRequestOfAClientThatLeft) {
  fixture f;
  f.upstream.respond_with([](const seen_request&) { return std::string(); });  // never
  auto client = f.connect();
  client.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return f.upstream.requests().size() == 1; }));
  client.close();
  EXPECT_TRUE(eventually(
      [&] { return f.counts().in_flight == 0 && f.counts().upstream_connections == 0; }));
  EXPECT_EQ(f.counts().clients_gone, 1U);
  EXPECT_EQ(f.counts().upstream_abandoned, 1U);
  EXPECT_EQ(f.counts().upstream_answered, 0U);
}

// Nobody there: 502 at once, with a reason, and the next request is tried again.
TEST(Gateway, Answers502WhenTheUpstreamRefuses) {
  fixture f({.upstream_listens = false});
  auto client = f.connect();
  for (int i = 0; i < 2; ++i) {
    client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto answer = client.read_response();
    EXPECT_EQ(answer.status, 502);
    EXPECT_EQ(answer.body,
              "{\"error\":\"bad gateway\",\"reason\":\"the upstream refuses connections\"}\n");
  }
}

// An upstream that hangs costs its client a bounded wait, and gets its slot freed.
TEST(Gateway, Answers504WhenTheUpstreamHangs) {
  fixture f({.response_timeout = 150ms});
  f.upstream.respond_with([](const seen_request&) { return std::string(); });
  auto client = f.connect();
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.read_response().status, 504);
  EXPECT_TRUE(eventually([&] { return f.counts().upstream_connections == 0; }));
}

// A counter that takes a step back looks like a restart to whoever draws rates, so none is computed
// from others: each request has its one result, counted when it is known.
TEST(Gateway, CountsOneResultForEachForwardedRequest) {
  struct row {
    const char* name;
    const char* answer;  // "": never
    const char* request;
    std::uint64_t gateway_counts::*result;
  };
  constexpr const char* get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  const row rows[] = {
      {"answer", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", get,
       &gateway_counts::upstream_answered},
      {"broken answer", "nonsense\r\n\r\n", get, &gateway_counts::upstream_broke_off},
      {"101 unasked", "HTTP/1.1 101 Switching Protocols\r\n\r\n", get,
       &gateway_counts::upstream_broke_off},
      {"no answer", "", get, &gateway_counts::upstream_timeouts},
      {"broken body", "", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\naX",
       &gateway_counts::upstream_abandoned},
  };
  for (const auto& r : rows) {
    fixture f({.response_timeout = 300ms});
    f.upstream.respond_with([&](const seen_request&) { return std::string(r.answer); });
    auto client = f.connect();
    client.send(r.request);
    EXPECT_NE(client.read_response().status, 0) << r.name;
    EXPECT_TRUE(eventually([&] { return f.counts().in_flight == 0; })) << r.name;
    const auto c = f.counts();
    EXPECT_EQ(c.*r.result, 1U) << r.name;
    EXPECT_EQ(c.upstream_answered + c.upstream_refused + c.upstream_broke_off +
                  c.upstream_timeouts + c.upstream_abandoned,
              c.forwarded)
        << r.name;
  }
}

// An upstream that closes an idle connection does so at the moment we reuse it (issue class B109).
TEST(Gateway, RetriesAGetOnAKeptConnectionThatTurnsOutClosed) {
  fixture f;
  f.upstream.close_instead_of_second_answer();
  auto client = f.connect();
  for (int i = 0; i < 6; ++i) {
    client.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(client.read_response().status, 200) << i;
  }
  EXPECT_EQ(f.decider.decided(), 6) << "a retry is never charged again";
  EXPECT_GE(f.counts().retries, 1U);
}

// The same for a POST could carry out a payment twice.
TEST(Gateway, DoesNotRepeatAPostThatMayHaveBeenCarriedOut) {
  fixture f;
  f.upstream.close_instead_of_second_answer();
  auto client = f.connect();
  client.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(client.read_response().status, 200);
  client.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(client.read_response().status, 502);
}

struct response_row {
  const char* name;
  std::string upstream;
  int status;
  const char* body;
  bool client_cut;     // the client sees that the answer is not complete
  bool upstream_kept;  // the connection serves the next request
};

// Whatever an upstream sends, a client gets one well-formed answer or a cut, never another's
// octets.
TEST(Gateway, TakesNothingFromAnUpstreamOnTrust) {
  const response_row rows[] = {
      {"plain", ok, 200, "ok", false, true},
      {"surplus", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokEXTRA", 200, "ok", false, false},
      {"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok!", 502,
       nullptr, false, false},
      {"both framings",
       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n", 502,
       nullptr, false, false},
      {"no http", "garbage\r\n\r\n", 502, nullptr, false, false},
      {"nul", std::string("HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n", 28), 502, nullptr, false, false},
      {"unasked 101",
       "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", 502,
       nullptr, false, false},
      {"204 with body", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nhello", 204, "", false,
       false},
      {"early hints", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok, 200, "ok", false,
       true},
      {"unexpected 100", "HTTP/1.1 100 Continue\r\n\r\n" + ok, 200, "ok", false, true},
      {"until close", "HTTP/1.1 200 OK\r\n\r\nall of it<EOF>", 200, "all of it", false, false},
      {"cut length", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok<EOF>", 200, nullptr, true,
       false},
      {"cut chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n<EOF>", 200,
       nullptr, true, false},
      {"bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\nzz\r\n", 200,
       nullptr, true, false},
      {"close", "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok<EOF>", 200,
       "ok", false, false},
  };
  for (const auto& row : rows) {
    fixture f;
    f.upstream.respond_with([&](const seen_request&) { return row.upstream; });
    auto client = f.connect();
    client.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    auto answer = client.read_response();
    while (answer.status == 103) answer = client.read_response();
    if (row.client_cut) {
      EXPECT_FALSE(answer.complete) << row.name;
      continue;
    }
    EXPECT_EQ(answer.status, row.status) << row.name;
    EXPECT_TRUE(answer.complete) << row.name;
    if (row.body != nullptr) {
      EXPECT_EQ(answer.body, row.body) << row.name;
    }
    f.upstream.respond_with([](const seen_request&) { return ok; });
    client.send("GET /y HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto next = client.read_response();
    EXPECT_EQ(next.status, 200) << row.name;
    EXPECT_EQ(next.body, "ok") << row.name;
    EXPECT_EQ(f.upstream.connections(), row.upstream_kept ? 1U : 2U) << row.name;
  }
}

// When the upstream does not take a body (fault F22) the client is not to blame for its pace.
TEST(Gateway, BlamesTheUpstreamThatDoesNotTakeTheBody) {
  fixture f({.response_timeout = 400ms, .body_grace = 100ms});
  f.upstream.never_read();
  auto client = f.connect();
  std::thread writer([&] {
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n" +
                pattern(4'000'000));
  });
  EXPECT_EQ(client.read_response().status, 504);
  client.close();
  writer.join();
}

// A dead upstream among living ones costs nobody an answer.
TEST(Gateway, GoesOnWithTheUpstreamThatLives) {
  fixture f({.dead_upstreams = 1});
  auto client = f.connect();
  for (int i = 0; i < 20; ++i) {
    client.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    EXPECT_EQ(client.read_response().status, 200);
  }
  EXPECT_EQ(f.decider.decided(), 20);
  EXPECT_LE(f.counts().retries, 3U) << "after three failures it is left out";
}

}  // namespace
}  // namespace penstock::gateway
