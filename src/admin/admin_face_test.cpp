#include "admin/admin_face.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "admin/assets.hpp"
#include "admin/fake_operations.hpp"
#include "admin/health.hpp"
#include "net/http1.hpp"

namespace penstock::admin {
namespace {

// One request without a socket; what was answered is in its members.
struct asked final : net::http_exchange {
  asked(std::string_view method, std::string target, std::string body = {},
        std::vector<field> more = {})
      : target_(std::move(target)), body_(std::move(body)) {
    head_.method = method;
    head_.path = std::string_view(target_).substr(0, target_.find('?'));
    if (const auto at = target_.find('?'); at != std::string::npos) {
      head_.query = std::string_view(target_).substr(at + 1);
    }
    head_.authority = "127.0.0.1:7070";
    head_.fields = std::move(more);
    if (method == "POST") head_.fields.push_back({"Content-Type", "application/json"});
  }

  [[nodiscard]] const net::http1::request_head& head() const noexcept override { return head_; }
  [[nodiscard]] std::string_view body() const noexcept override { return body_; }
  [[nodiscard]] const net::peer_address& peer() const noexcept override { return peer_; }
  void answer(int s, std::string_view type, std::string_view text,
              std::string_view lines) override {
    EXPECT_EQ(status, 0) << "answered twice";
    status = s;
    content_type = type;
    content = text;
    fields = lines;
  }
  void close_after() noexcept override {}
  [[nodiscard]] boost::json::object json() const { return boost::json::parse(content).as_object(); }

  int status = 0;
  std::string content_type, content, fields;
  net::peer_address peer_{net::peer_address::kind::v4, {127, 0, 0, 1}};

 private:
  std::string target_, body_;
  net::http1::request_head head_;
};

struct AdminFace : ::testing::Test {
  std::unique_ptr<asked> ask(std::string_view method, std::string target, std::string body = {},
                             std::vector<field> more = {}) {
    auto x = std::make_unique<asked>(method, std::move(target), std::move(body), std::move(more));
    face->handle(*x);
    return x;
  }
  void with_token() { make({.token = sha256("t"), .hosts = {}}); }
  void make(access_options who) {
    face.reset();
    face.emplace(on, does, counts, std::move(who),
                 [this](std::string_view line) { audit.emplace_back(line); });
  }

  steady_wall_clock clock;
  net::loop on{clock};
  fake_operations does;
  telemetry::metrics counts{{1, 2}};
  std::vector<std::string> audit;
  std::optional<admin_face> face;

  void SetUp() override {
    does.now_limits = {{.name = "a", .overridden = {}}, {.name = "login", .overridden = {}}};
    make({});
  }
};

// Every path of the API answers, takes its own method only, and is JSON that nobody caches.
TEST_F(AdminFace, EveryPathAnswersItsOwnMethodWithJson) {
  const struct {
    const char* method;
    const char* target;
    const char* body;
  } rows[] = {
      {"GET", "/api/v1/status", ""},
      {"GET", "/api/v1/limits", ""},
      {"GET", "/api/v1/offenders?by=requests&window=1h&n=5", ""},
      {"GET", "/api/v1/refusals?n=5", ""},
      {"GET", "/api/v1/events", ""},
      {"GET", "/api/v1/history", ""},
      {"GET", "/api/v1/bans", ""},
      {"GET", "/api/v1/overrides", ""},
      {"GET", "/api/v1/inspect?key=address:1.2.3.4", ""},
      {"POST", "/api/v1/reset", R"({"key":"user:1"})"},
      {"POST", "/api/v1/ban", R"({"key":"user:1","for":"1min"})"},
      {"POST", "/api/v1/unban", R"({"key":"user:1"})"},
      {"POST", "/api/v1/override", R"({"limit":"a","quota":"1/s","for":"1h"})"},
      {"POST", "/api/v1/lift-override", R"({"limit":"a"})"},
      {"POST", "/api/v1/reload", ""},
  };
  for (const auto& r : rows) {
    const auto x = ask(r.method, r.target, r.body);
    EXPECT_EQ(x->status, 200) << r.target << ": " << x->content;
    EXPECT_EQ(x->content_type, "application/json") << r.target;
    EXPECT_NE(x->fields.find("Cache-Control: no-store\r\n"), std::string::npos) << r.target;
    EXPECT_NO_THROW((void)x->json()) << r.target;
    const auto wrong = ask(r.method == std::string("GET") ? "POST" : "GET", r.target, r.body);
    EXPECT_EQ(wrong->status, 405) << r.target;
    EXPECT_NE(wrong->fields.find("Allow: " + std::string(r.method)), std::string::npos) << r.target;
  }
  EXPECT_EQ(ask("GET", "/api/v1/none")->status, 404);
}

// A change is done once, counted, told as an event and written down, also when it fails.
TEST_F(AdminFace, ChangesAreWrittenDown) {
  EXPECT_EQ(
      ask("POST", "/api/v1/ban", R"({"limit":"login","key":"user:1","for":"1min","reason":"r"})")
          ->status,
      200);
  const auto failed = ask("POST", "/api/v1/reset", R"({"limit":"a","key":"none"})");
  EXPECT_EQ(failed->status, 400);
  EXPECT_EQ(failed->json().at("error").as_string(), "no limit counts by a key like \"none\"");
  EXPECT_EQ(ask("POST", "/api/v1/reset", R"({"key":)")->status, 400);

  EXPECT_EQ(does.asked, (std::vector<std::string>{"ban login user:1 60000000", "reset a none"}));
  ASSERT_EQ(audit.size(), 2U);
  const auto first = boost::json::parse(audit[0]).as_object();
  EXPECT_EQ(first.at("audit").as_string(), "ban");
  EXPECT_EQ(first.at("peer").as_string(), "127.0.0.1");
  EXPECT_EQ(first.at("for").as_string(), "1min");
  EXPECT_EQ(first.at("outcome").as_string(), "done");
  EXPECT_EQ(boost::json::parse(audit[1]).as_object().at("outcome").as_string(), "failed");
  EXPECT_EQ(counts.sum().of(telemetry::tally::admin_ban), 1U);
  EXPECT_EQ(counts.sum().of(telemetry::tally::admin_reset), 0U);
  EXPECT_EQ(counts.events().latest().size(), 2U);
}

// A misspelt name is told apart from a request that is wrong, and a change of it is written down.
TEST_F(AdminFace, UnknownLimitsAre404WithTheNearestName) {
  const struct {
    const char* method;
    const char* target;
    const char* body;
  } rows[] = {
      {"GET", "/api/v1/inspect?key=user:1&limit=logim", ""},
      {"GET", "/api/v1/refusals?limit=logim", ""},
      {"POST", "/api/v1/reset", R"({"key":"user:1","limit":"logim"})"},
      {"POST", "/api/v1/ban", R"({"key":"user:1","limit":"logim","for":"1h"})"},
      {"POST", "/api/v1/unban", R"({"key":"user:1","limit":"logim"})"},
      {"POST", "/api/v1/override", R"({"limit":"logim","quota":"1/s","for":"1h"})"},
      {"POST", "/api/v1/lift-override", R"({"limit":"logim"})"},
  };
  for (const auto& r : rows) {
    const auto x = ask(r.method, r.target, r.body);
    EXPECT_EQ(x->status, 404) << r.target;
    EXPECT_EQ(x->json().at("error").as_string(),
              "there is no limit named \"logim\"; did you mean \"login\"?")
        << r.target;
  }
  EXPECT_TRUE(does.asked.empty());
  EXPECT_EQ(audit.size(), 5U);
}

// The refusals of one customer are found by limit, key and client, whatever others do.
TEST_F(AdminFace, RefusalsAreFiltered) {
  const std::vector<telemetry::limit_label> labels = {{"a", "user", "*"}, {"login", "user", "*"}};
  const auto slots = counts.limits().assign(labels);
  auto& l = counts.add_loop();
  const auto refuse = [&](int limit, const char* key, const char* from) {
    l.refusals.add({.at = on.now(), .limit = slots[limit], .key = key, .client = from});
  };
  refuse(0, "user:1", "192.0.2.1");
  refuse(1, "user:1", "192.0.2.1");
  refuse(1, "user:2", "192.0.2.1");
  refuse(1, "user:2", "192.0.2.2");
  const auto count = [&](const std::string& query) {
    return ask("GET", "/api/v1/refusals?" + query)->json().at("refusals").as_array().size();
  };
  EXPECT_EQ(count(""), 4U);
  EXPECT_EQ(count("n=2"), 2U);
  EXPECT_EQ(count("limit=a"), 1U);
  EXPECT_EQ(count("key=user:2"), 2U);
  EXPECT_EQ(count("client=192.0.2.1"), 3U);
  EXPECT_EQ(count("client=192.0.2.1&limit=login&key=user:2&n=9"), 1U);
}

// Access is decided before anything else is looked at; health probes and the page need no token.
TEST_F(AdminFace, ATokenGuardsEverythingButHealthAndThePage) {
  with_token();
  for (const char* const open : {"/livez", "/readyz", "/", "/dashboard.js", "/dashboard.css"}) {
    EXPECT_EQ(ask("GET", open)->status, 200) << open;
  }
  for (const char* const closed : {"/metrics", "/api/v1/status", "/api/v1/none", "/other"}) {
    const auto x = ask("GET", closed);
    EXPECT_EQ(x->status, 401) << closed;
    EXPECT_NE(x->fields.find("WWW-Authenticate: Bearer\r\n"), std::string::npos) << closed;
    EXPECT_NE(ask("GET", closed, {}, {{"Authorization", "Bearer t"}})->status, 401) << closed;
  }
  EXPECT_EQ(ask("POST", "/api/v1/reload", "{")->status, 401);
  EXPECT_TRUE(does.asked.empty());
  EXPECT_EQ(counts.sum().of(telemetry::tally::admin_wrong_token), 5U);
}

// What offenders show is who they are, in JSON that a page can take as it is.
TEST_F(AdminFace, OffendersNameLimitAndKey) {
  const std::vector<telemetry::limit_label> labels = {{"login", "address", "/login"}};
  const auto slot = counts.limits().assign(labels).front();
  auto& l = counts.add_loop();
  for (int i = 0; i < 3; ++i) {
    l.keys.add(telemetry::ranking::refusals, slot, "address:<b>", on.now());
  }
  l.refusals.add({.at = on.now(), .limit = slot, .key = "address:<b>", .status = 429});
  const auto x = ask("GET", "/api/v1/offenders");
  EXPECT_EQ(x->content.find('<'), std::string::npos);
  const auto top = x->json().at("top").as_array();
  ASSERT_EQ(top.size(), 1U);
  EXPECT_EQ(top[0].at("limit").as_string(), "login");
  EXPECT_EQ(top[0].at("key").as_string(), "address:<b>");
  EXPECT_EQ(top[0].at("at_least").as_int64(), 3);
  EXPECT_EQ(top[0].at("at_most").as_int64(), 3);
  EXPECT_EQ(ask("GET", "/api/v1/refusals")->json().at("refusals").as_array().size(), 1U);
  EXPECT_EQ(ask("GET", "/api/v1/offenders?by=size")->status, 400);
  EXPECT_EQ(ask("GET", "/api/v1/offenders?window=2m")->status, 400);
  EXPECT_EQ(ask("GET", "/api/v1/offenders?n=0")->status, 400);
}

// With a shared store the list is that of the fleet, and says so.
TEST_F(AdminFace, OffendersOfOtherInstancesAreAdded) {
  const std::vector<telemetry::limit_label> labels = {{"login", "address", "/login"}};
  const auto slot = counts.limits().assign(labels).front();
  counts.add_loop().keys.add(telemetry::ranking::refusals, slot, "address:a", on.now());
  EXPECT_EQ(ask("GET", "/api/v1/offenders")->json().at("instances").as_int64(), 1);
  EXPECT_TRUE(ask("GET", "/api/v1/offenders")->json().at("whole").as_bool());

  telemetry::process_offenders other;
  other[static_cast<std::size_t>(telemetry::ranking::refusals)]
       [static_cast<std::size_t>(telemetry::window::minute)] = {
           .keys = {{"login", "address:a", 4, 5}}, .total = 9, .floor = 2};
  does.now_others = {.processes = {other}, .whole = false};
  const auto merged = ask("GET", "/api/v1/offenders")->json();
  EXPECT_EQ(merged.at("instances").as_int64(), 2);
  EXPECT_FALSE(merged.at("whole").as_bool());
  EXPECT_EQ(merged.at("total").as_int64(), 10);
  EXPECT_EQ(merged.at("error_max").as_int64(), 2);
  EXPECT_EQ(merged.at("top").as_array().at(0).at("at_least").as_int64(), 5);
  EXPECT_EQ(merged.at("top").as_array().at(0).at("at_most").as_int64(), 6);
  EXPECT_EQ(ask("GET", "/api/v1/offenders?window=1h")->json().at("total").as_int64(), 1);
}

// Counts of a limit stand beside its configuration.
TEST_F(AdminFace, LimitsCarryTheirCounts) {
  does.now_limits = {{.name = "a", .key_type = "address", .quota = "10/s", .overridden = {}}};
  const std::vector<telemetry::limit_label> labels = {{"a", "address", "*"}};
  const auto slot = counts.limits().assign(labels).front();
  auto& l = counts.add_loop();
  l.checked(slot, true);
  l.checked(slot, false);
  l.shadow_checked(slot, false);
  const auto row = ask("GET", "/api/v1/limits")->json().at("limits").as_array().at(0).as_object();
  EXPECT_EQ(row.at("quota").as_string(), "10/s");
  EXPECT_EQ(row.at("admitted").as_int64(), 1);
  EXPECT_EQ(row.at("refused").as_int64(), 1);
  EXPECT_EQ(row.at("shadow_refused").as_int64(), 1);
  EXPECT_TRUE(row.at("override").is_null());
}

// A store's answer may come after the client left; nobody may be answered then.
TEST_F(AdminFace, AnAnswerThatComesTooLateGoesNowhere) {
  auto x = ask("GET", "/api/v1/inspect?key=later");
  EXPECT_EQ(x->status, 0);
  face->abandoned(*x);
  x.reset();
  does.finish();

  auto waits = ask("GET", "/api/v1/inspect?key=later");
  does.finish();
  EXPECT_EQ(waits->status, 200);
  EXPECT_EQ(ask("GET", "/api/v1/inspect?key=gone")->status, 503);
  EXPECT_EQ(ask("GET", "/api/v1/inspect")->status, 400);
}

// A probe must tell "send no traffic" from "works, but look at it".
TEST_F(AdminFace, ReadinessSaysWhy) {
  EXPECT_EQ(ask("GET", "/readyz")->content, "ready\n");
  does.now_ready.reasons = {"the store does not answer"};
  EXPECT_EQ(ask("GET", "/readyz")->status, 200);
  EXPECT_EQ(ask("GET", "/readyz")->content, "degraded\n- the store does not answer\n");
  does.now_ready = {.ready = false, .reasons = {"draining"}};
  EXPECT_EQ(ask("GET", "/readyz")->status, 503);
  EXPECT_EQ(ask("GET", "/livez")->status, 200);
  EXPECT_EQ(ask("POST", "/livez")->status, 405);
}

// The health listener shows health and metrics and nothing else, whoever asks.
TEST_F(AdminFace, TheHealthListenerIsReadOnly) {
  health_face health(does, counts);
  const auto status = [&](std::string_view method, std::string target) {
    asked x(method, std::move(target));
    x.peer_.octets = {192, 0, 2, 1};
    health.handle(x);
    return x.status;
  };
  EXPECT_EQ(status("GET", "/livez"), 200);
  EXPECT_EQ(status("HEAD", "/metrics"), 200);
  EXPECT_EQ(status("POST", "/metrics"), 405);
  EXPECT_EQ(status("GET", "/api/v1/status"), 404);
  EXPECT_EQ(status("POST", "/api/v1/reload"), 404);
  EXPECT_EQ(status("GET", "/"), 404);
  asked x("GET", "/metrics");
  health.handle(x);
  EXPECT_EQ(x.content_type, "text/plain; version=0.0.4; charset=utf-8");
}

// A policy that would let a script in is worth nothing if the page itself breaks it.
TEST(Assets, ThePageKeepsItsOwnContentPolicy) {
  const std::string_view page = find_asset("/")->content;
  EXPECT_EQ(page.find("<script>"), std::string_view::npos);
  EXPECT_EQ(page.find("style="), std::string_view::npos);
  EXPECT_EQ(page.find("http"), std::string_view::npos) << "asks another host";
  const std::string_view script = find_asset("/dashboard.js")->content;
  EXPECT_EQ(script.find("innerHTML"), std::string_view::npos);
  EXPECT_EQ(script.find("eval("), std::string_view::npos);
  EXPECT_EQ(find_asset("/../"), nullptr);
}

}  // namespace
}  // namespace penstock::admin
