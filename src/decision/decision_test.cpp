#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "decision/face.hpp"
#include "decision/server.hpp"
#include "service/service.hpp"
#include "store/memory/memory_store.hpp"

namespace penstock::decision {
namespace {

using std::chrono::hours;
using std::chrono::seconds;

policy::limit_spec limit(std::string name, policy::key_kind key, std::int64_t count,
                         std::string path = {}, std::string method = {}) {
  policy::limit_spec l;
  l.name = std::move(name);
  l.key = {.alternatives = {{{.kind = key}}}, .text = "as written"};
  l.rate.quotas = {{.kind = algorithm::fixed_window, .count = count, .period = hours{1}}};
  l.match.path = std::move(path);
  if (!method.empty()) l.match.methods = {std::move(method)};
  return l;
}

policy::policy_spec policy_of(std::vector<policy::limit_spec> limits) {
  policy::policy_spec spec;
  spec.limits = std::move(limits);
  spec.identity.user_header = "X-User-Id";
  return spec;
}

// A store that is away.
struct lost_store final : store::store {
  penstock::store::progress check(penstock::store::batch& b, instant) override {
    b.failed = true;
    return penstock::store::progress::done;
  }
  void refund(std::span<const charge>, instant, instant) override {}
  void reset(const counter&, std::string_view) override {}
};

// The decision service on a loop of its own.
struct served {
  explicit served(const policy::policy_spec& spec, server_options options = {},
                  store::store* counters = nullptr)
      : memory(store::memory_store::create({}).value()),
        service(counters != nullptr ? *counters : *memory, policy::compile(spec).value()) {
    if (!options.listen.is_unix()) {
      if (options.listen.host.empty()) options.listen.host = "127.0.0.1";
    }
    auto opened = server::open(options, {{&on, &service}});
    if (!opened) {
      ADD_FAILURE() << opened.error().message;
      return;
    }
    server = *std::move(opened);
    thread = std::thread([this] { on.run(); });
    server->start();
    address = server->addresses().at(0);
  }
  ~served() {
    if (server) server->stop();
    on.stop();
    if (thread.joinable()) thread.join();
  }

  steady_wall_clock clock;
  net::loop on{clock};
  std::unique_ptr<store::memory_store> memory;
  service::service service;
  std::unique_ptr<decision::server> server;
  std::string address;
  std::thread thread;
};

struct answer {
  int status = 0;
  std::string head, body;

  // The value of a field; "" when it is absent.
  [[nodiscard]] std::string operator[](std::string_view name) const {
    const auto at = head.find("\r\n" + std::string(name) + ": ");
    if (at == std::string::npos) return "";
    const auto start = at + name.size() + 4;
    return head.substr(start, head.find("\r\n", start) - start);
  }
  [[nodiscard]] boost::json::object json() const { return boost::json::parse(body).as_object(); }
};

int connected(const std::string& address) {
  int fd = -1;
  if (address.starts_with("unix:")) {
    fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    address.copy(to.sun_path, sizeof to.sun_path - 1, 5);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  } else {
    fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  }
  const timeval patience{.tv_sec = 20, .tv_usec = 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return fd;
}

// Sends a head (lines end in \n here) and a body on a fresh connection; reads to its end.
answer ask(const served& s, const std::string& head, const std::string& body = {}) {
  const int fd = connected(s.address);
  std::string octets;
  for (const char c : head) octets += c == '\n' ? std::string("\r\n") : std::string(1, c);
  octets += "Host: check\r\nConnection: close\r\n";
  if (!body.empty()) octets += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  octets += "\r\n" + body;
  EXPECT_EQ(::send(fd, octets.data(), octets.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(octets.size()));
  std::string got;
  char block[65536];
  for (ssize_t n = 0; (n = ::recv(fd, block, sizeof block, 0)) > 0;) {
    got.append(block, static_cast<std::size_t>(n));
  }
  ::close(fd);
  answer a;
  const auto end = got.find("\r\n\r\n");
  if (end == std::string::npos) {
    ADD_FAILURE() << "no answer: " << got;
    return a;
  }
  a.head = got.substr(0, end + 2);
  a.body = got.substr(end + 4);
  a.status = std::stoi(a.head.substr(9, 3));
  return a;
}

answer check(const served& s, const std::string& json) {
  return ask(s, "POST /v1/check HTTP/1.1\nContent-Type: application/json\n", json);
}

// One request without a socket, to be answered or not.
struct held_exchange final : net::http_exchange {
  held_exchange() { parse(); }
  void parse() { EXPECT_EQ(parser.parse(octets, head_), net::http1::parse_status::complete); }
  [[nodiscard]] const net::http1::request_head& head() const noexcept override { return head_; }
  [[nodiscard]] std::string_view body() const noexcept override { return {}; }
  [[nodiscard]] const net::peer_address& peer() const noexcept override { return peer_; }
  void answer(int status, std::string_view, std::string_view, std::string_view) override {
    statuses.push_back(status);
  }
  void close_after() noexcept override {}

  std::string octets = "GET /v1/auth/x HTTP/1.1\r\nHost: check\r\n\r\n";
  net::http1::request_parser parser;
  net::http1::request_head head_;
  net::peer_address peer_;
  std::vector<int> statuses;
};

// A decider that answers when it is told to.
struct slow_decider final : service::decider {
  service::answer decide(service::exchange_context& x, instant) override {
    waiting = &x;
    x.decision.clear();
    return service::answer::pending;
  }
  void cancel(service::exchange_context&, instant) override { ++cancelled; }
  void completed(service::exchange_context&, int, instant) override {}
  [[nodiscard]] std::span<const std::string> untrusted_fields() const noexcept override {
    return {};
  }

  service::exchange_context* waiting = nullptr;
  int cancelled = 0;
};

const std::string nginx_login =
    "GET /v1/auth?deny=403&original=x-original HTTP/1.1\nX-Original-URI: /login\n"
    "X-Original-Method: POST\nX-Forwarded-For: 198.51.100.7\n";

// What nginx needs of a refusal: 403, and the real answer in fields that it can read.
TEST(Auth, RefusesWithTheStatusThatTheProxyCanTake) {
  const served s(policy_of({limit("login", policy::key_kind::address, 1, "/login", "POST")}));
  const auto passed = ask(s, nginx_login);
  EXPECT_EQ(passed.status, 200);
  EXPECT_EQ(passed.body, "");
  EXPECT_EQ(passed["X-RateLimit-Verdict"], "allow");
  EXPECT_EQ(passed["X-RateLimit-Status"], "200");
  EXPECT_EQ(passed["RateLimit-Policy"], "\"login\";q=1;w=3600");
  const auto refused = ask(s, nginx_login);
  EXPECT_EQ(refused.status, 403);
  EXPECT_EQ(refused["X-RateLimit-Verdict"], "deny");
  EXPECT_EQ(refused["X-RateLimit-Status"], "429");
  EXPECT_NE(refused["Retry-After"], "");
  EXPECT_EQ(refused["RateLimit"].substr(0, 12), "\"login\";r=0;");
  EXPECT_EQ(refused.json().at("limit").as_string(), "login");

  const auto by_line =
      ask(s, "POST /v1/auth/login?deny=404 HTTP/1.1\nX-Forwarded-For: 198.51.100.7\n");
  EXPECT_EQ(by_line.status, 429) << "behind a path the query is the client's";
  const auto other = ask(s, "POST /v1/auth/login HTTP/1.1\nX-Forwarded-For: 198.51.100.8\n");
  EXPECT_EQ(other.status, 200) << "another client";
}

// Spellings of a path are one path, and one that upstreams read in different ways is refused.
TEST(Auth, AnAmbiguousPathIsARefusal) {
  const served s(policy_of({limit("login", policy::key_kind::global, 1, "/login")}));
  const auto get = [&](const std::string& uri) {
    return ask(s, "GET /v1/auth HTTP/1.1\nX-Forwarded-Uri: " + uri + "\n");
  };
  EXPECT_EQ(get("/login").status, 200);
  EXPECT_EQ(get("//%6cogin/;x").status, 429);
  for (const char* uri : {"/log%2Fin", "/../login", "/login%00", "/login#x", "login"}) {
    const auto a = get(uri);
    EXPECT_EQ(a.status, 400) << uri;
    EXPECT_EQ(a["X-RateLimit-Verdict"], "deny") << uri;
  }
  const auto nginx = ask(s, "GET /v1/auth?deny=403 HTTP/1.1\nX-Original-URI: /log%2Fin\n");
  EXPECT_EQ(nginx.status, 403);
  EXPECT_EQ(nginx["X-RateLimit-Status"], "400");
}

// A proxy that tells nothing must fail at its first request, and not count everything as
// "/v1/auth".
TEST(Auth, AMisconfiguredProxyIsTold) {
  const served s(policy_of({}));
  EXPECT_EQ(ask(s, "HEAD /v1/auth HTTP/1.1\n").status, 400);
  EXPECT_NE(ask(s, "GET /v1/auth HTTP/1.1\n").body.find("X-Original-URI"), std::string::npos);
  EXPECT_EQ(ask(s, "GET /v1/auth?dney=403 HTTP/1.1\nX-Original-URI: /\n").status, 400);
  EXPECT_EQ(ask(s, "GET /v1/authx HTTP/1.1\n").status, 404);
}

// The peer is the proxy. On a loopback listener it is believed without any configuration; told
// never to believe, it counts as the client itself.
TEST(Auth, TheClientIsWhomALocalProxyNames) {
  const auto spec = policy_of({limit("ip", policy::key_kind::address, 1)});
  const auto from = [](const served& s, const std::string& client) {
    return ask(s, "GET /v1/auth/ HTTP/1.1\nX-Forwarded-For: " + client + "\n").status;
  };
  const served local(spec);
  EXPECT_EQ(from(local, "198.51.100.1"), 200);
  EXPECT_EQ(from(local, "10.9.8.7, 198.51.100.1"), 429) << "the left item is the client's own";
  EXPECT_EQ(from(local, "198.51.100.2"), 200);

  const served never(spec, {.believe = belief::never});
  EXPECT_EQ(from(never, "198.51.100.1"), 200);
  EXPECT_EQ(from(never, "198.51.100.2"), 429);
  EXPECT_EQ(ask(never, "GET /v1/auth HTTP/1.1\nX-Original-URI: /\n").status, 400);

  const served open(spec, {.listen = {.host = "0.0.0.0"}, .believe = belief::always});
  EXPECT_EQ(
      ask(open, "GET /v1/auth HTTP/1.1\nX-Original-URI: /\nX-Forwarded-For: 198.51.100.1\n").status,
      200);
  EXPECT_EQ(from(open, "198.51.100.2"), 429) << "trusted_proxies names nobody";
}

// A listener that others reach can ask for a secret; who has it is believed like a local proxy.
TEST(Auth, ATokenStandsInForThisMachine) {
  const served s(policy_of({limit("ip", policy::key_kind::address, 1)}),
                 {.listen = {.host = "0.0.0.0"}, .token = sha256("s3cret")});
  const std::string named = "GET /v1/auth HTTP/1.1\nX-Original-URI: /\nX-Forwarded-For: ";
  EXPECT_EQ(ask(s, named + "198.51.100.1\n").status, 400);
  EXPECT_EQ(ask(s, named + "198.51.100.1\nX-Penstock-Token: other\n").status, 400);
  EXPECT_EQ(ask(s, named + "198.51.100.1\nX-Penstock-Token: s3cret\n").status, 200);
  EXPECT_EQ(ask(s, named + "198.51.100.2\nAuthorization: bearer s3cret\n").status, 200);
  EXPECT_EQ(ask(s, named + "198.51.100.2\nX-Penstock-Token: s3cret\n").status, 429);
  EXPECT_EQ(check(s, "{}").status, 401);
  EXPECT_EQ(check(s, "{}")["WWW-Authenticate"], "Bearer");
  EXPECT_EQ(ask(s, "POST /v1/check HTTP/1.1\nAuthorization: Bearer s3cret\n", "{}").status, 200);
}

// A unix socket is as good as loopback.
TEST(Auth, ServesUnixSockets) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("penstock-decision-" + std::to_string(::getpid()) + ".sock");
  const served s(policy_of({limit("ip", policy::key_kind::address, 1)}),
                 {.listen = {.unix_path = path.string()}});
  EXPECT_EQ(s.address, "unix:" + path.string());
  EXPECT_EQ(ask(s, nginx_login).status, 200);
  EXPECT_EQ(ask(s, nginx_login).status, 403);
}

// A proxy whose client left must give back what was asked for, and must never be answered twice;
// the connection is then good for the next check.
TEST(Auth, AProxyThatLeavesIsForgotten) {
  steady_wall_clock clock;
  net::loop on{clock};
  slow_decider decides;
  face f(on, decides, {}, nullptr);
  held_exchange x;
  f.handle(x);
  f.abandoned(x);
  EXPECT_EQ(decides.cancelled, 1);

  f.handle(x);
  decides.waiting->decision.what = policy::outcome::delay;
  decides.waiting->decision.delay = hours{1};
  decides.waiting->on_decided(*decides.waiting);
  EXPECT_TRUE(x.statuses.empty()) << "the answer is held";
  f.abandoned(x);
  EXPECT_EQ(decides.cancelled, 2);

  f.handle(x);
  decides.waiting->on_decided(*decides.waiting);
  EXPECT_EQ(x.statuses, std::vector<int>{200});
  f.abandoned(x);
  EXPECT_EQ(decides.cancelled, 2) << "nothing was due";
}

// A queue at a proxy works like one at the gateway: the answer comes when the turn has come.
TEST(Auth, HoldsItsAnswerForAQueue) {
  auto queue = limit("hooks", policy::key_kind::global, 1);
  queue.rate.quotas = {{.kind = algorithm::leaky_bucket,
                        .count = 1,
                        .period = seconds{1},
                        .queue = 1,
                        .max_delay = seconds{5}}};
  const served s(policy_of({queue}));
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(ask(s, "GET /v1/auth/ HTTP/1.1\n").status, 200);
  EXPECT_EQ(ask(s, "GET /v1/auth/ HTTP/1.1\n").status, 200);
  EXPECT_GE(std::chrono::steady_clock::now() - start, seconds{1});
  const auto told = check(s, "{}").json();
  EXPECT_EQ(told.at("outcome").as_string(), "delay");
  EXPECT_GT(told.at("delay_ms").as_int64(), 0);
}

// A refusal below 500 whatever the limit answers with; an outage above.
TEST(Auth, OnlyAnOutageLooksLikeOne) {
  auto busy = limit("busy", policy::key_kind::global, 0, "/busy");
  busy.response = policy::response_spec{.status = 503};
  auto strict = limit("strict", policy::key_kind::global, 1);
  strict.on_store_failure = policy::store_failure::deny;
  {
    const served s(policy_of({busy}));
    const auto a = ask(s, "GET /v1/auth/busy HTTP/1.1\n");
    EXPECT_EQ(a.status, 429);
    EXPECT_EQ(a["X-RateLimit-Status"], "503");
  }
  lost_store away;
  const served s(policy_of({strict}), {}, &away);
  const auto a = ask(s, "GET /v1/auth?deny=403 HTTP/1.1\nX-Original-URI: /\n");
  EXPECT_EQ(a.status, 503);
  EXPECT_EQ(a["Retry-After"], "1");
  EXPECT_EQ(a["X-RateLimit-Verdict"], "unavailable");
  const auto c = check(s, "{}");
  EXPECT_EQ(c.status, 503);
  EXPECT_EQ(c.json().at("outcome").as_string(), "degraded_deny");
  EXPECT_FALSE(c.json().at("allowed").as_bool());
}

// The answer tells each limit's numbers exactly, so that a program needs no second question.
TEST(Check, TellsWhatEachLimitSays) {
  auto shadow = limit("shadow", policy::key_kind::global, 0);
  shadow.mode = policy::limit_mode::shadow;
  const served s(policy_of({limit("user", policy::key_kind::user, 10), shadow}));
  const std::string of_user = R"({"method":"POST","path":"/x","user":"42","cost":4)";
  const auto first = check(s, of_user + "}");
  EXPECT_EQ(first.status, 200);
  const auto a = first.json();
  EXPECT_TRUE(a.at("allowed").as_bool());
  EXPECT_EQ(a.at("outcome").as_string(), "allow");
  EXPECT_EQ(a.at("status").as_int64(), 200);
  EXPECT_EQ(a.at("limit").as_string(), "user");
  ASSERT_EQ(a.at("limits").as_array().size(), 2U);
  const auto user = a.at("limits").at(0).as_object();
  EXPECT_EQ(user.at("limit").as_string(), "user");
  EXPECT_EQ(user.at("key").as_string(), "user:42");
  EXPECT_EQ(user.at("cost").as_int64(), 4);
  EXPECT_EQ(user.at("quota").as_int64(), 10);
  EXPECT_EQ(user.at("remaining").as_int64(), 6);
  EXPECT_TRUE(user.at("admitted").as_bool());
  EXPECT_EQ(a.at("limits").at(1).at("mode").as_string(), "shadow");
  EXPECT_FALSE(a.at("limits").at(1).at("admitted").as_bool());
  EXPECT_TRUE(a.at("limits").at(1).at("retry_after_ms").is_null());
  EXPECT_EQ(a.at("headers").at("X-RateLimit-Remaining").as_string(), "6");

  EXPECT_TRUE(check(s, of_user + "}").json().at("allowed").as_bool());
  const auto refused = check(s, of_user + "}");
  EXPECT_EQ(refused.status, 200) << "the question was answered";
  const auto r = refused.json();
  EXPECT_FALSE(r.at("allowed").as_bool());
  EXPECT_EQ(r.at("status").as_int64(), 429);
  EXPECT_EQ(r.at("reason").as_string(), "rate limit exceeded");
  EXPECT_EQ(std::to_string(r.at("retry_after").as_int64()),
            r.at("headers").at("Retry-After").as_string());
}

// A program that knows who it is about names limit and key; it meets the counter that requests of
// the same identity use, and no other.
TEST(Check, NamesALimitAndAKey) {
  auto both = limit("both", policy::key_kind::user, 2, "/users/{id}");
  both.key.alternatives = {{{.kind = policy::key_kind::user}, {.kind = policy::key_kind::route}}};
  const served s(policy_of({limit("login", policy::key_kind::address, 2, "/login"), both}));
  const auto remaining = [&](const std::string& json) {
    return check(s, json).json().at("limits").at(0).at("remaining").as_int64();
  };
  EXPECT_EQ(remaining(R"({"path":"/login","address":"198.51.100.1"})"), 1);
  EXPECT_EQ(remaining(R"({"limit":"login","key":"address:198.51.100.1"})"), 0);
  EXPECT_EQ(remaining(R"({"limit":"login","key":"address:198.51.100.2"})"), 1);
  EXPECT_EQ(remaining(R"({"path":"/users/7","user":"a"})"), 1);
  EXPECT_EQ(remaining(R"({"limit":"both","key":["route:/users/8/","user:a"],"cost":0})"), 1);

  const auto none = check(s, R"({"charges":[{"limit":"login","key":"address:198.51.100.3","cost":1},
                                             {"limit":"both","key":["user:b","route:/users/1"],"cost":3}]})")
                        .json();
  EXPECT_FALSE(none.at("allowed").as_bool());
  EXPECT_EQ(remaining(R"({"limit":"login","key":"address:198.51.100.3","cost":0})"), 2)
      << "all or none";

  for (const char* wrong :
       {R"({"limit":"none"})", R"({"limit":"login"})", R"({"limit":"login","key":"user:1"})",
        R"({"limit":"login","key":"address:x"})",
        R"({"limit":"login","key":["address:::1","user:1"]})"}) {
    const auto a = check(s, wrong).json();
    EXPECT_EQ(a.at("status").as_int64(), 400) << wrong;
    EXPECT_TRUE(a.contains("reason")) << wrong;
  }
}

// A dry run is exact and takes nothing, however often; a cost of 0 only asks for the state.
TEST(Check, APeekTakesNothing) {
  const served s(policy_of({limit("all", policy::key_kind::global, 5)}));
  for (int i = 0; i < 1000; i += 100) {
    std::string batch = R"({"checks":[{"cost":5,"peek":true})";
    for (int k = 1; k < 100; ++k) batch += R"(,{"cost":6,"peek":true})";
    const auto got = check(s, batch + "]}").json();
    ASSERT_EQ(got.at("results").as_array().size(), 100U);
    EXPECT_TRUE(got.at("results").at(0).at("allowed").as_bool());
    EXPECT_EQ(got.at("results").at(99).at("reason").as_string(), "the cost can never fit");
  }
  EXPECT_EQ(check(s, R"({"cost":0})").json().at("limits").at(0).at("remaining").as_int64(), 5);
  EXPECT_EQ(check(s, R"({"cost":5})").json().at("limits").at(0).at("remaining").as_int64(), 0);
  EXPECT_FALSE(check(s, R"({"peek":true})").json().at("allowed").as_bool());
}

// A batch is decided in its order, and one item's fault is its own.
TEST(Check, ABatchIsDecidedInOrder) {
  const served s(policy_of({limit("all", policy::key_kind::global, 2)}));
  const auto a = check(s, R"({"checks":[{},{"path":"/%zz"},{},{"path":"/a#b"},{}]})");
  EXPECT_EQ(a.status, 200);
  std::vector<std::int64_t> statuses;
  const auto told = a.json();
  for (const auto& r : told.at("results").as_array()) {
    statuses.push_back(r.at("status").as_int64());
  }
  EXPECT_EQ(statuses, (std::vector<std::int64_t>{200, 400, 200, 400, 429}));
}

// Errors are JSON with a sentence; pages that a browser shows may not spend anybody's quota.
TEST(Check, RefusesWhatIsNoQuestion) {
  const served s(policy_of({}));
  EXPECT_EQ(check(s, "{").status, 400);
  EXPECT_EQ(check(s, R"({"cots":1})").json().at("error").as_string(),
            "cots: is not a member of a check");
  EXPECT_EQ(ask(s, "GET /v1/check HTTP/1.1\n")["Allow"], "POST");
  EXPECT_EQ(ask(s, "POST /v1/check HTTP/1.1\nOrigin: http://evil.example\n", "{}").status, 403);
  EXPECT_EQ(check(s, std::string(300'000, ' ')).status, 413);
  EXPECT_EQ(ask(s, "GET / HTTP/1.1\n").status, 404);
}

}  // namespace
}  // namespace penstock::decision
