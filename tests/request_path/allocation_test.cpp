// A request must not allocate once its connection is warm. This file counts every operator new of
// its thread while a whole gateway, with real limits and a real store, serves one connection after
// another request; the client and the upstream of the test allocate nothing either.
#include <array>
#include <chrono>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/counted_new_test_support.hpp"
#include "config/load.hpp"
#include "gateway/proxy_rig.hpp"
#include "net/tls.hpp"
#include "policy/policy.hpp"
#include "redis_server.hpp"
#include "service/service.hpp"
#include "store/memory/memory_store.hpp"
#include "store/redis/redis_store.hpp"
#include "telemetry/access_log.hpp"
#include "telemetry/metrics.hpp"

namespace penstock {
namespace {

using gateway::testing::proxy_rig;
using gateway::testing::upstream_end;

constexpr int warm_requests = 40;
constexpr int counted_requests = 200;

constexpr std::string_view policy_text =
    "version: 1\n"
    "client: { trusted_proxies: [192.0.2.0/24], address_from: x-forwarded-for }\n"
    "identity: { api_key: { header: X-API-Key } }\n"
    "limits:\n"
    "  - { name: all, key: global, algorithm: fixed_window, rate: 1000000/h }\n"
    "  - { name: client, key: api_key | address, rate: 100000/min }\n"
    "  - { name: window, key: address + route, algorithm: sliding_window_counter, rate: 10000/min "
    "}\n"
    "  - { name: seen, key: header(X-Tenant), rate: 5/h, mode: shadow }\n"
    "  - { name: none, match: { path: /no }, key: address, rate: 0/s }\n";

constexpr std::string_view plain_answer =
    "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 300\r\nServer: a\r\n\r\n";
constexpr std::string_view chunked_answer =
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";

enum class store_kind : std::uint8_t { memory, redis };
enum class log_kind : std::uint8_t { off, all };
enum class wire : std::uint8_t { plain, tls };

struct row {
  const char* name;
  std::string_view request;
  bool chunked = false;
  std::string_view status = "200";
  store_kind store = store_kind::memory;
  log_kind log = log_kind::off;
  wire over = wire::plain;
};

constexpr std::string_view get =
    "GET /orders/17?page=2 HTTP/1.1\r\nHost: api.example.test\r\nUser-Agent: "
    "a-client-of-some-sort/1.0\r\n"
    "Accept: */*\r\nX-API-Key: 0123456789abcdef0123456789abcdef\r\nX-Tenant: "
    "somebody-with-a-long-name\r\n"
    "X-Forwarded-For: 198.51.100.7, 203.0.113.99\r\n\r\n";
constexpr std::string_view post =
    "POST /orders HTTP/1.1\r\nHost: api.example.test\r\nContent-Length: "
    "20\r\n\r\n01234567890123456789";
constexpr std::string_view post_chunked =
    "POST /orders HTTP/1.1\r\nHost: api.example.test\r\nTransfer-Encoding: chunked\r\n\r\n"
    "14\r\n01234567890123456789\r\n0\r\n\r\n";
constexpr std::string_view refused =
    "GET /no HTTP/1.1\r\nHost: api.example.test\r\nX-Forwarded-For: 198.51.100.7\r\n\r\n";

// One client of a gateway with everything behind it.
class bench {
 public:
  explicit bench(const row& r) : row_(r), metrics_(hash128{1, 2}) {
    const auto loaded = config::load_text("policy.yaml", policy_text);
    EXPECT_TRUE(loaded.ok()) << config::format(loaded.issues, loaded.source);
    auto policy = policy::compile(loaded.value.policy, {});
    EXPECT_TRUE(policy) << policy.error().message;
    if (r.store == store_kind::memory) {
      memory_ = std::move(*store::memory_store::create({}));
    } else {
      server_.emplace();
      store::redis::redis_url url;
      url.unix_path = server_->socket_path();
      auto made = store::redis::redis_store::make(
          rig_.loop().context(),
          {.url = url, .deadline = std::chrono::milliseconds{2000}, .on_event = {}});
      EXPECT_TRUE(made) << made.error().message;
      redis_ = std::move(*made);
    }
    auto& store = memory_ ? static_cast<store::store&>(*memory_) : *redis_;
    service_.emplace(store, std::move(*policy),
                     service::service_options{
                         .metrics = &metrics_, .counts = &metrics_.add_loop(), .clock = &clock_});
    rig_.decides = &*service_;
    if (r.log == log_kind::all) {
      log_ = std::move(*telemetry::access_log::open("/dev/null", 1));
      rig_.log = {.mode = gateway::access_log_mode::all, .path = "/dev/null", .lines_max = 0};
      rig_.log_ring = &log_->of_loop(0);
    }
    rig_.on_upstream = [this](upstream_end& u) { answer(u); };
    if (r.over == wire::tls) make_certificate();
    rig_.open_client();
    if (r.over == wire::tls) handshake();
    body_.assign(300, 'x');
    received_.reserve(64U << 10U);
  }

  ~bench() {
    session_.reset();
    rig_.clear();
    redis_.reset();
    rig_.settle();
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  // Sends the row's request and waits for the whole answer. Its status; "" when none came.
  std::string_view ask() {
    received_.clear();
    rig_.client_received.clear();
    if (session_) {
      const iovec piece{const_cast<char*>(row_.request.data()), row_.request.size()};
      std::size_t sent = 0;
      session_->write(&piece, 1, sent);
    } else {
      rig_.client_sends(row_.request);
    }
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds{30};
    while (std::chrono::steady_clock::now() < give_up) {
      rig_.turn();
      if (session_) read_session();
      const std::string& got = session_ ? received_ : rig_.client_received;
      if (whole(got)) return std::string_view(got).substr(9, 3);
    }
    return {};
  }

 private:
  static bool whole(const std::string& got) {
    const auto head = got.find("\r\n\r\n");
    if (head == std::string::npos) return false;
    if (got.find("Transfer-Encoding: chunked") < head) return got.ends_with("0\r\n\r\n");
    const auto length = got.find("Content-Length: ");
    return length < head &&
           got.size() == head + 4 + std::strtoul(got.c_str() + length + 16, nullptr, 10);
  }

  // A request is whole when its last octets are there; the row knows them.
  void answer(upstream_end& u) {
    const std::string_view end = row_.request.substr(row_.request.size() - 4);
    if (!std::string_view(u.received).ends_with(end)) return;
    u.received.clear();
    if (row_.chunked) {
      rig_.upstream_sends(u, chunked_answer);
    } else {
      rig_.upstream_sends(u, plain_answer);
      rig_.upstream_sends(u, body_);
    }
  }

  void make_certificate() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "penstock-path-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 "
        "-keyout " +
        folder_ + "/key -out " + folder_ +
        "/pem -subj /CN=a.test -addext subjectAltName=DNS:a.test "
        "2>/dev/null";
    ASSERT_EQ(std::system(command.c_str()), 0);
    auto server =
        net::tls_context::server({.certificates = {{folder_ + "/pem", folder_ + "/key"}}});
    ASSERT_TRUE(server) << server.error().message;
    rig_.tls = std::move(*server);
    auto client = net::tls_context::client({.ca_file = folder_ + "/pem"});
    ASSERT_TRUE(client) << client.error().message;
    client_tls_ = std::move(*client);
  }

  void handshake() {
    session_.emplace(*client_tls_, rig_.take_over_client(), net::tls_session::host_name{"a.test"});
    for (int i = 0; i < 1000; ++i) {
      if (session_->handshake() == net::tls_session::status::done) return;
      rig_.turn();
    }
    FAIL() << session_->failure();
  }

  void read_session() {
    std::array<char, 16384> room{};
    std::size_t octets = 0;
    while (session_->read(room.data(), room.size(), octets) == net::tls_session::status::done) {
      received_.append(room.data(), octets);
    }
  }

  const row row_;
  steady_wall_clock clock_;
  telemetry::metrics metrics_;
  std::optional<redis_test::redis_server> server_;
  std::unique_ptr<telemetry::access_log> log_;
  proxy_rig rig_;
  std::unique_ptr<store::memory_store> memory_;
  std::unique_ptr<store::redis::redis_store> redis_;
  std::optional<service::service> service_;
  std::shared_ptr<const net::tls_context> client_tls_;
  std::optional<net::tls_session> session_;
  std::string body_, received_, folder_;
};

void run(const row& r) {
  SCOPED_TRACE(r.name);
  bench b(r);
  if (::testing::Test::HasFatalFailure()) return;
  for (int i = 0; i < warm_requests; ++i) {
    // A store that connects may not decide the first ones; what counts is the last.
    const auto status = b.ask();
    if (i + 1 == warm_requests) {
      ASSERT_EQ(status, r.status);
    }
  }
  const std::size_t before = allocations;
  for (int i = 0; i < counted_requests; ++i) ASSERT_EQ(b.ask(), r.status);
  EXPECT_EQ(allocations - before, 0U) << "in " << counted_requests << " requests";
}

// Every way through the gateway that is taken often. TLS: what OpenSSL allocates for itself is
// not counted (it takes its buffers anew for each record, so that idle connections are small).
TEST(RequestPath, AllocatesNothingWhenWarm) {
  const row rows[] = {
      {"forwarded", get},
      {"with a body", post},
      {"with a chunked body", post_chunked},
      {"chunked answer", get, true},
      {"refused", refused, false, "429"},
      {"forwarded, logged", get, false, "200", store_kind::memory, log_kind::all},
      {"refused, logged", refused, false, "429", store_kind::memory, log_kind::all},
      {"forwarded, TLS", get, false, "200", store_kind::memory, log_kind::off, wire::tls},
      {"refused, TLS, logged", refused, false, "429", store_kind::memory, log_kind::all, wire::tls},
      {"body, TLS", post, false, "200", store_kind::memory, log_kind::off, wire::tls},
  };
  for (const auto& r : rows) run(r);
}

// The same with a store that answers later.
TEST(RequestPath, AllocatesNothingWhenWarmWithRedis) {
  PENSTOCK_NEEDS_REDIS();
  const row rows[] = {
      {"forwarded", get, false, "200", store_kind::redis},
      {"with a body", post, false, "200", store_kind::redis},
      {"refused", refused, false, "429", store_kind::redis},
      {"forwarded, logged, TLS", get, false, "200", store_kind::redis, log_kind::all, wire::tls},
  };
  for (const auto& r : rows) run(r);
}

}  // namespace
}  // namespace penstock
