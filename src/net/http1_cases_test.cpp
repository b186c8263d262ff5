// Runs the two corpora of client and upstream octets (testdata/*.jsonl, one case per line with the
// reaction it calls for) on the machines alone, whole, octet by octet, and cut at every place. What
// only the gateway can decide is listed below by name, so that no case is skipped unnoticed.
#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "net/http1_test_support.hpp"

namespace penstock::net::http1::testing {
namespace {

namespace json = boost::json;

constexpr std::size_t cut_everywhere_max = 700;  // octets; longer cases are cut at 100 places

std::vector<json::object> load(const std::string& name) {
  std::vector<json::object> cases;
  std::ifstream file(PENSTOCK_SOURCE_DIR "/src/net/testdata/" + name);
  std::string line;
  while (std::getline(file, line)) cases.push_back(json::parse(line).as_object());
  return cases;
}

std::string text(const json::object& c, const char* key) {
  return std::string(c.at(key).as_string());
}

// The files hold each octet as the code point of the same number.
std::string octets(const json::object& c, const char* key) {
  const std::string utf8 = text(c, key);
  std::string out;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    auto octet = static_cast<unsigned char>(utf8[i]);
    if (octet >= 0xc0) {
      const auto next = static_cast<unsigned char>(utf8.at(++i));
      octet = static_cast<unsigned char>((octet & 0x03U) << 6U | (next & 0x3fU));
    }
    out.push_back(static_cast<char>(octet));
  }
  return out;
}

// Checks that every way of delivery ends the same, and returns that end.
template <class Side>
transcript deliver_every_way(const Side& side, const std::string& raw) {
  const transcript whole = deliver(side, raw, std::max<std::size_t>(raw.size(), 1));
  EXPECT_EQ(deliver(side, raw, 1), whole) << "octet by octet";
  const std::size_t stride = raw.size() <= cut_everywhere_max ? 1 : raw.size() / 100;
  for (std::size_t cut = 1; cut < raw.size(); cut += stride) {
    EXPECT_EQ(deliver_cut(side, raw, cut), whole) << "cut at " << cut;
  }
  return whole;
}

// Requests that the parser takes as they are, although the gateway refuses or cuts them.
const std::map<std::string, const char*> left_to_the_gateway = {
    {"RL-32-absolute-ssrf", "which authorities are served is configuration"},
    {"LI-08-cl-over-limit", "the bound on bodies is configuration"},
    {"LI-13-slow-body", "a time limit"},
    {"PI-08-limited-unread-body", "what happens to a refused request's body"},
    {"PN-05-encoded-slash", "canonical paths are the policy's"},
    {"PN-13-overlong-utf8", "canonical paths are the policy's"},
    {"ID-05-two-api-keys", "which fields identify is configuration"},
};

bool allows(const json::object& c, const std::string& reaction) {
  if (text(c, "expect") == reaction) return true;
  const json::array& also = c.at("also").as_array();
  return std::ranges::any_of(also, [&](const json::value& v) { return v.as_string() == reaction; });
}

// What an intermediary must refuse, it refuses before any of it counts or goes on.
TEST(HttpCases, EveryRequestCaseEndsAsItMust) {
  const std::vector<json::object> cases = load("request_cases.jsonl");
  ASSERT_EQ(cases.size(), 152U);
  std::size_t left = 0;
  for (const json::object& c : cases) {
    const std::string id = text(c, "id");
    SCOPED_TRACE(id);
    const transcript t = deliver_every_way(request_side{}, octets(c, "raw"));
    for (const message& m : t.messages) {
      EXPECT_EQ(m.head.start[2].find("smuggled"), std::string::npos);
    }
    const bool cut = !t.messages.empty() && !t.messages.back().complete;
    if (left_to_the_gateway.contains(id)) {
      ++left;
      EXPECT_EQ(t.refused, 0) << t.refusal;
      EXPECT_EQ(t.messages.size(), 1U);
      continue;
    }
    const auto want = static_cast<std::size_t>(c.at("complete").as_int64());
    const std::string expect = text(c, "expect");
    if (t.complete() > 0) {
      EXPECT_EQ(expect, "forward");
      EXPECT_EQ(t.complete(), want);
      EXPECT_FALSE(cut);
    } else if (t.refused != 0) {
      EXPECT_TRUE(allows(c, "reject-" + std::to_string(t.refused))) << t.refused << t.refusal;
    } else {
      EXPECT_TRUE(c.at("half_close").as_bool());
      EXPECT_TRUE(cut);
      EXPECT_FALSE(t.proper_end);
      EXPECT_EQ(expect, "close");
    }
  }
  EXPECT_EQ(left, left_to_the_gateway.size());
  EXPECT_EQ(left, 7U);
}

// A case behind another request must end as it does alone: no state may cross messages.
TEST(HttpCases, EveryRequestCaseEndsTheSameBehindAnotherRequest) {
  const std::string before = "GET /first HTTP/1.1\r\nHost: example.test\r\n\r\n";
  for (const json::object& c : load("request_cases.jsonl")) {
    SCOPED_TRACE(text(c, "id"));
    const std::string raw = octets(c, "raw");
    const transcript alone = deliver(request_side{}, raw, raw.size());
    transcript behind = deliver(request_side{}, before + raw, before.size() + raw.size());
    ASSERT_FALSE(behind.messages.empty());
    behind.messages.erase(behind.messages.begin());
    EXPECT_EQ(behind, alone);
  }
}

const std::map<std::string, const char*> responses_left_to_the_gateway = {
    {"UR-16", "whether the switch was asked for"},
    {"UR-29", "octets before a request: the pool's"},
    {"UR-31", "a time limit"},
    {"UR-32", "no connection"},
};

// A guess about an upstream's framing would hand one client the answer of another.
TEST(HttpCases, EveryResponseCaseEndsAsItMust) {
  const std::vector<json::object> cases = load("response_cases.jsonl");
  ASSERT_EQ(cases.size(), 23U);
  std::size_t left = 0;
  for (const json::object& c : cases) {
    const std::string id = text(c, "id");
    SCOPED_TRACE(id);
    if (responses_left_to_the_gateway.contains(id)) {
      ++left;
      continue;
    }
    std::string raw = octets(c, "upstream_raw");
    if (raw.ends_with("<EOF>")) raw.resize(raw.size() - 5);
    const std::string method = text(c, "req").substr(0, text(c, "req").find('-'));
    const transcript t = deliver_every_way(response_side(method), raw);
    const std::string expect = text(c, "expect");
    if (expect == "502") {
      EXPECT_EQ(t.refused, 502);
      EXPECT_EQ(t.complete(), 0U);
    } else if (expect == "close") {
      EXPECT_FALSE(t.proper_end);
      EXPECT_FALSE(t.messages.back().complete);
    } else {
      EXPECT_EQ(t.refused, 0) << t.refusal;
      EXPECT_EQ(t.complete(), t.messages.size());
      // What must not be pooled shows: octets that belong to no answer.
      EXPECT_EQ(!t.unread.empty(), text(c, "then") == "close");
    }
  }
  EXPECT_EQ(left, responses_left_to_the_gateway.size());
  EXPECT_EQ(left, 4U);
}

}  // namespace
}  // namespace penstock::net::http1::testing
