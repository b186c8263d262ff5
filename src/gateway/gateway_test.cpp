// A real gateway on a free port between std-socket clients and a scripted upstream: what crosses,
// what is refused, and how it ends.
#include "gateway/gateway.hpp"

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gateway/gateway_test_support.hpp"

namespace penstock::gateway {
namespace {

using namespace std::chrono_literals;

// The plain way of every request.
TEST(Gateway, ForwardsAGetAndItsAnswer) {
  fixture f;
  auto client = f.connect();
  client.send("GET /a/b?c=1 HTTP/1.1\r\nHost: example.test\r\nX-A: 1\r\n\r\n");
  const auto answer = client.read_response();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "ok");
  EXPECT_EQ(answer.field("X-Decision"), "seen");
  EXPECT_NE(answer.field("Date"), "");
  const auto seen = f.upstream.requests();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].line, "GET /a/b?c=1 HTTP/1.1");
  EXPECT_EQ(seen[0].field("Host"), "example.test");
  EXPECT_EQ(seen[0].field("X-Forwarded-For"), "127.0.0.1");
  EXPECT_EQ(seen[0].field("Via"), "1.1 penstock");
}

// Bodies of both framings, small and far larger than any buffer, arrive as they were sent.
TEST(Gateway, StreamsBodiesOfEveryFramingBothWays) {
  fixture f;
  f.upstream.respond_with([](const seen_request& r) {
    return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(r.body, 7'000);
  });
  auto client = f.connect();
  for (const std::size_t size : {0U, 1U, 5'000U, 300'000U, 3'000'000U}) {
    const std::string body = pattern(size);
    for (const bool chunks : {false, true}) {
      std::thread writer([&] {
        client.send("POST /echo HTTP/1.1\r\nHost: a\r\n" +
                    (chunks ? "Transfer-Encoding: chunked\r\n\r\n" + chunked(body, 3'333)
                            : "Content-Length: " + std::to_string(size) + "\r\n\r\n" + body));
      });
      const auto answer = client.read_response();
      writer.join();
      EXPECT_EQ(answer.status, 200);
      ASSERT_EQ(answer.body.size(), size) << (chunks ? "chunked" : "length");
      EXPECT_TRUE(answer.body == body);
    }
  }
  EXPECT_EQ(f.upstream.connections(), 1U) << "one kept connection serves all";
}

// Keep-alive on both sides is most of what a proxy saves.
TEST(Gateway, KeepsConnectionsOnBothSides) {
  fixture f;
  auto client = f.connect();
  for (int i = 0; i < 50; ++i) {
    client.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(client.read_response().status, 200);
  }
  EXPECT_EQ(f.upstream.connections(), 1U);
  EXPECT_EQ(f.counts().accepted, 1U);
}

// Answers in order, each decided on its own, in one segment or many.
TEST(Gateway, AnswersPipelinedRequestsInOrder) {
  fixture f;
  f.upstream.respond_with([](const seen_request& r) {
    return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(r.target().size()) + "\r\n\r\n" +
           r.target();
  });
  auto client = f.connect();
  std::string all;
  for (int i = 0; i < 300; ++i) {
    all += "GET /" + std::to_string(i) + " HTTP/1.1\r\nHost: a\r\n\r\n";
  }
  client.send(all);
  for (int i = 0; i < 300; ++i) EXPECT_EQ(client.read_response().body, "/" + std::to_string(i));
  EXPECT_EQ(f.decider.decided(), 300);
}

// Thousands of refusals in one buffer must neither recurse nor lose one.
TEST(Gateway, RefusesAFloodOfPipelinedRequests) {
  fixture f;
  auto client = f.connect();
  std::string all;
  for (int i = 0; i < 5'000; ++i) all += "GET /deny HTTP/1.1\r\nHost: a\r\n\r\n";
  std::thread writer([&] { client.send(all); });
  for (int i = 0; i < 5'000; ++i) ASSERT_EQ(client.read_response().status, 429);
  writer.join();
  EXPECT_EQ(f.upstream.connections(), 0U);
}

// The refusal is why the product exists: at once, complete, and the connection lives on.
TEST(Gateway, RefusesWithoutTouchingTheUpstreamAndKeepsTheConnection) {
  fixture f;
  auto client = f.connect();
  client.send("GET /deny HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto answer = client.read_response();
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.field("Retry-After"), "7");
  EXPECT_EQ(answer.field("Connection"), "");
  EXPECT_EQ(answer.body, "{\"error\":\"no\"}\n");
  client.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.read_response().status, 200);
}

// An upload is refused by its head, not after its body.
TEST(Gateway, RefusesAnUploadBeforeItsBodyCame) {
  fixture f;
  auto client = f.connect();
  client.send("POST /deny HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\nbeginning");
  const auto answer = client.read_response();
  EXPECT_EQ(answer.status, 429);
  EXPECT_EQ(answer.field("Connection"), "close");
  EXPECT_TRUE(client.ends());
  EXPECT_EQ(f.upstream.connections(), 0U);
}

// The bytes of a refused body are never a request (Pingora CVE-2025-4366).
TEST(Gateway, NeverParsesTheBodyOfARefusedRequest) {
  fixture f;
  auto client = f.connect();
  const std::string body = "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n";
  client.send("POST /deny HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(body.size()) +
              "\r\n\r\n" + body + "GET /next HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.read_response().status, 429);
  EXPECT_EQ(client.read_response().status, 200);
  const auto seen = f.upstream.requests();
  ASSERT_EQ(seen.size(), 1U);
  EXPECT_EQ(seen[0].target(), "/next");
}

// Errors of the client's making are told and end the connection.
TEST(Gateway, AnswersMalformedHeadsAndBodies) {
  fixture f;
  const struct {
    const char* name;
    const char* text;
    int status;
  } rows[] = {
      {"no host", "GET / HTTP/1.1\r\n\r\n", 400},
      {"two lengths",
       "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400},
      {"version", "GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
      {"bad chunk", "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 400},
      {"spilled chunk",
       "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX\r\n0\r\n\r\n",
       400},
      {"too long", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\n", 413},
  };
  for (const auto& row : rows) {
    auto client = f.connect();
    client.send(row.text);
    EXPECT_EQ(client.read_response().status, row.status) << row.name;
    EXPECT_TRUE(client.ends()) << row.name;
  }
  EXPECT_TRUE(f.upstream.requests().empty());
}

// A chunked body has no length to judge it by; the bound holds all the same.
TEST(Gateway, BoundsAChunkedBody) {
  fixture f;
  auto client = f.connect();
  std::thread writer([&] {
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" +
                chunked(pattern(4'500'000), 50'000));
  });
  EXPECT_EQ(client.read_response().status, 413);
  client.close();
  writer.join();
  EXPECT_TRUE(f.upstream.requests().empty());
}

// A queue that answers at once is no queue; one that holds others up is worse.
TEST(Gateway, DelaysOnlyTheRequestThatQueues) {
  fixture f;
  auto slow = f.connect();
  const auto began = std::chrono::steady_clock::now();
  slow.send("GET /delay HTTP/1.1\r\nHost: a\r\n\r\n");
  auto quick = f.connect();
  quick.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(quick.read_response().status, 200);
  EXPECT_EQ(slow.read_response().status, 200);
  EXPECT_GE(std::chrono::steady_clock::now() - began, fake_decider::delay);
}

// A queue's place belongs to a client that waits for it.
TEST(Gateway, GivesTheQueuePlaceBackWhenTheClientLeaves) {
  fixture f({.decider_delay = 600'000ms});
  auto client = f.connect();
  client.send("GET /delay HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return f.decider.decided() == 1; }));
  client.close();
  EXPECT_TRUE(eventually([&] { return f.decider.cancelled() == 1; }));
  EXPECT_EQ(f.upstream.connections(), 0U);
}

// A remote store answers later; the request waits and nothing else does.
TEST(Gateway, WaitsForAPendingDecision) {
  fixture f;
  auto client = f.connect();
  client.send("GET /pending HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.read_response().status, 200);
  client.send("POST /pending HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(client.read_response().status, 200);
  EXPECT_EQ(f.upstream.requests().back().body, "hello");
}

// HEAD tells a length that nobody may wait for.
TEST(Gateway, DoesNotWaitForTheBodyOfAHead) {
  fixture f;
  f.upstream.respond_with([](const seen_request&) {
    return std::string("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  });
  auto client = f.connect();
  for (int i = 0; i < 2; ++i) {
    client.send("HEAD /x HTTP/1.1\r\nHost: a\r\n\r\n");
    const auto answer = client.read_response(response_of::head);
    EXPECT_EQ(answer.field("Content-Length"), "5");
  }
  EXPECT_EQ(f.upstream.connections(), 1U);
}

// A 1.0 client: no chunks, no interim responses, close unless it asked otherwise.
TEST(Gateway, ServesOldClients) {
  fixture f;
  f.upstream.respond_with([](const seen_request&) {
    return "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" +
           chunked("hello", 2);
  });
  auto client = f.connect();
  client.send("GET /x HTTP/1.0\r\n\r\n");
  const auto answer = client.read_response();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("Transfer-Encoding"), "");
  EXPECT_EQ(answer.body, "hello");
  EXPECT_TRUE(client.ends());
}

// Whoever waits for 100 gets it from the upstream, or from us when the upstream says nothing.
TEST(Gateway, LetsAnExpectingClientContinue) {
  for (const bool upstream_says_it : {true, false}) {
    fixture f({.continue_timeout = 100ms});
    f.upstream.send_continue(upstream_says_it);
    auto client = f.connect();
    client.send("POST /x HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
    EXPECT_EQ(client.read_response().status, 100);
    client.send("hello");
    EXPECT_EQ(client.read_response().status, 200);
    EXPECT_EQ(f.upstream.requests().back().body, "hello");
  }
}

// Nothing passes through before the upstream's 101 (Pingora CVE-2026-2833), everything after it.
TEST(Gateway, TunnelsAfterTheUpstreamSwitches) {
  fixture f;
  f.upstream.tunnel_echo();
  auto client = f.connect();
  client.send("GET /ws HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
  const auto answer = client.read_response(response_of::head);
  EXPECT_EQ(answer.status, 101);
  EXPECT_EQ(answer.field("Upgrade"), "websocket");
  const std::string data = pattern(500'000);
  std::thread writer([&] { client.send(data); });
  EXPECT_TRUE(client.read_exactly(data.size()) == data);
  writer.join();
  client.half_close();
  EXPECT_TRUE(client.ends());
}

// The same request answered without 101 is an ordinary one, and the next is parsed and decided.
TEST(Gateway, ParsesWhatFollowsAnUpgradeThatWasNotTaken) {
  fixture f;
  auto client = f.connect();
  client.send(
      "GET /up HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\n"
      "GET /second HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.read_response().status, 200);
  EXPECT_EQ(client.read_response().status, 200);
  EXPECT_EQ(f.decider.decided(), 2);
}

// Slow heads and bodies end at their deadline, however many octets trickle in.
TEST(Gateway, EndsSlowHeadsAndBodies) {
  fixture f({.head_timeout = 200ms, .body_grace = 200ms});
  for (const char* start :
       {"GET / HTTP/1.1\r\nHo", "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nx"}) {
    auto client = f.connect();
    client.send(start);
    EXPECT_EQ(client.read_response().status, 408);
    EXPECT_TRUE(client.ends());
  }
  EXPECT_EQ(f.counts().clients_cut, 2U);
}

// A client that does not read must not hold more than one buffer, nor for ever.
TEST(Gateway, CutsAClientThatDoesNotRead) {
  fixture f({.write_grace = 200ms});
  f.upstream.respond_with([](const seen_request&) {
    return "HTTP/1.1 200 OK\r\nContent-Length: 60000000\r\n\r\n" + pattern(60'000'000);
  });
  auto client = f.connect();
  client.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return f.counts().clients_cut == 1; }));
  EXPECT_TRUE(eventually([&] { return f.counts().upstream_connections == 0; }));
}

// A stop that loses a request is an outage that nobody announced.
TEST(Gateway, FinishesRequestsWhileItDrains) {
  fixture f;
  std::promise<void> release;
  auto released = release.get_future().share();
  f.upstream.respond_with([released](const seen_request&) {
    released.wait();
    return ok;
  });
  auto busy = f.connect();
  busy.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
  auto idle = f.connect();
  ASSERT_TRUE(
      eventually([&] { return f.upstream.requests().size() == 1 && f.counts().connections == 2; }));
  std::promise<void> drained;
  f.gateway().drain(net::idle_clients::close_soon, [&] { drained.set_value(); });
  EXPECT_TRUE(idle.ends());
  EXPECT_TRUE(f.refuses_connections());
  release.set_value();
  const auto answer = busy.read_response();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.field("Connection"), "close");
  EXPECT_TRUE(busy.ends());
  EXPECT_EQ(drained.get_future().wait_for(10s), std::future_status::ready);
}

// The promise of every rolling restart: who was told to go on is answered, nobody else is let in.
TEST(Gateway, LosesNoRequestWhenItStopsUnderLoad) {
  fixture f({.loops = 2});
  std::atomic<int> answered{0};
  std::atomic<int> lost{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back([&] {
      auto client = f.connect();
      for (;;) {
        client.send("POST /x HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
        const auto answer = client.read_response();
        if (answer.status != 200 || !answer.complete) ++lost;
        ++answered;
        if (answer.status != 200 || answer.field("Connection") == "close") return;
      }
    });
  }
  ASSERT_TRUE(eventually([&] { return answered > 500; }));
  std::promise<void> drained;
  f.gateway().drain(net::idle_clients::close_soon, [&] { drained.set_value(); });
  for (auto& client : clients) client.join();
  EXPECT_EQ(lost, 0);
  EXPECT_EQ(drained.get_future().wait_for(10s), std::future_status::ready);
  EXPECT_TRUE(f.refuses_connections());
}

// Clients leave at every octet, politely or not; nothing of them may remain (fault F23).
TEST(Gateway, ForgetsClientsThatLeaveAtAnyPoint) {
  fixture f;
  const std::string request =
      "POST /x HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
  for (int round = 0; round < 4; ++round) {
    for (std::size_t size = 0; size <= request.size(); ++size) {
      auto client = f.connect();
      client.send(request.substr(0, size));
      if (round % 2 == 0) client.close_with_reset();
    }
  }
  EXPECT_TRUE(eventually([&] { return f.counts().connections == 0 && f.counts().in_flight == 0; }));
  auto client = f.connect();
  client.send(request);
  EXPECT_EQ(client.read_response().status, 200);
}

// Beyond its bound the gateway says so at once instead of queueing.
TEST(Gateway, Answers503AboveItsBound) {
  fixture f({.in_flight_max = 1});
  f.upstream.respond_with([](const seen_request&) { return std::string(); });
  auto first = f.connect();
  first.send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return f.counts().in_flight == 1; }));
  auto second = f.connect();
  second.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
  const auto answer = second.read_response();
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.field("Retry-After"), "1");
}

// Behind a balancer that speaks TCP only, its header is the one place where the client's address
// is.
TEST(Gateway, TakesTheClientFromAProxyHeader) {
  fixture f({.proxy_protocol = true});
  auto client = f.connect();
  client.send("PROXY TCP4 203.0.113.9 192.0.2.1 4711 80\r\nGET /x HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(client.read_response().status, 200);
  EXPECT_EQ(f.upstream.requests().back().field("X-Forwarded-For"), "203.0.113.9");
  auto without = f.connect();
  without.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_TRUE(without.ends()) << "who must send one and does not is not believed";
}

// Every loop serves, and stopping stops them all.
TEST(Gateway, SharesItsPortAmongLoops) {
  fixture f({.loops = 3});
  std::vector<peer> clients;
  for (int i = 0; i < 60; ++i) {
    clients.push_back(f.connect());
    clients.back().send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
  }
  for (auto& client : clients) EXPECT_EQ(client.read_response().status, 200);
  EXPECT_EQ(f.counts().requests, 60U);
  EXPECT_GE(f.upstream.connections(), 3U);
}

// Without descriptors clients wait in the system's queue and are served when others leave.
TEST(Gateway, AcceptsAgainWhenAClientLeaves) {
  fixture f({.connections_max = 1});
  auto first = f.connect();
  first.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(first.read_response().status, 200);
  auto second = f.connect();
  second.send("GET /x HTTP/1.1\r\nHost: a\r\n\r\n");
  first.close();
  EXPECT_EQ(second.read_response().status, 200);
}

}  // namespace
}  // namespace penstock::gateway
