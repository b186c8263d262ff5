#include "admin/change.hpp"

#include <string>

#include <gtest/gtest.h>

#include "admin/query.hpp"

namespace penstock::admin {
namespace {

constexpr std::string_view required[] = {"key", "for"}, optional_members[] = {"limit", "reason"};

result<change> read(std::string_view body) {
  return read_change(body, required, optional_members);
}

// All members of a ban arrive as they were sent.
TEST(Change, ReadsItsMembers) {
  const auto c =
      read(R"({"limit":"login","key":"address:203.0.113.9","for":"10min","reason":"scan"})");
  ASSERT_TRUE(c);
  EXPECT_EQ(c->limit, "login");
  EXPECT_EQ(c->key, "address:203.0.113.9");
  EXPECT_EQ(c->reason, "scan");
  EXPECT_EQ(c->lasts, std::chrono::minutes{10});
}

// What is wrong is named, because the reader sits at a command line in a hurry.
TEST(Change, SaysWhatIsWrong) {
  struct row {
    const char* name;
    std::string body;
    const char* want;
  };
  const row rows[] = {
      {"empty", "", "the body must be one JSON object"},
      {"array", "[]", "the body must be one JSON object"},
      {"two values", "{} {}", "the body must be one JSON object"},
      {"deep", R"({"key":[[[[[[1]]]]]]})", "the body must be one JSON object"},
      {"missing", R"({"key":"a"})", "\"for\" is missing"},
      {"unknown", R"({"key":"a","for":"1s","kee":"a"})", "this change has no member \"kee\""},
      {"not of this change", R"({"key":"a","for":"1s","quota":"1/s"})",
       "this change has no member \"quota\""},
      {"number", R"({"key":1,"for":"1s"})", "\"key\" must be a text"},
      {"empty text", R"({"key":"","for":"1s"})", "\"key\" must have 1 to 256 characters"},
      {"long text", "{\"key\":\"" + std::string(257, 'k') + "\",\"for\":\"1s\"}",
       "\"key\" must have 1 to 256 characters"},
      {"zero", R"({"key":"a","for":"0"})", "\"for\" must be longer than 0"},
  };
  for (const row& r : rows) {
    const auto c = read(r.body);
    ASSERT_FALSE(c) << r.name;
    EXPECT_EQ(c.error().message, r.want) << r.name;
    EXPECT_EQ(c.error().code, errc::invalid_argument) << r.name;
  }
  EXPECT_TRUE(read(R"({"key":"a","for":"ten minutes"})").error().message.starts_with("\"for\": "));
}

// The audit log is evidence: one line, whatever a client named its key.
TEST(Change, AuditLinesAreOneLine) {
  change c;
  c.limit = "login";
  c.key = "a\r\n{\"audit\":\"forged\"}\x1b[2J";
  c.lasts = std::chrono::minutes{90};
  const std::string line = audit_line({.at = instant{std::chrono::seconds{1'800'000'000}},
                                       .action = "ban",
                                       .peer = "127.0.0.1",
                                       .what = &c,
                                       .error = "no such limit"});
  EXPECT_EQ(line,
            R"({"audit":"ban","at":"2027-01-15T08:00:00Z","peer":"127.0.0.1","limit":"login",)"
            R"("key":"a\u000d\u000a{\"audit\":\"forged\"}\u001b[2J","for":"90min",)"
            R"("outcome":"failed","error":"no such limit"})");
}

// Query values as browsers and curl encode them.
TEST(QueryValue, DecodesTheFirstOfAName) {
  EXPECT_EQ(query_value("a=1&key=address%3A2001%3Adb8%3A%3A%2F64&key=x", "key"),
            "address:2001:db8::/64");
  EXPECT_EQ(query_value("k=a+b", "k"), "a b");
  EXPECT_EQ(query_value("k", "k"), "");
  EXPECT_EQ(query_value("kk=1&k=", "k"), "");
  EXPECT_EQ(query_value("k=%4", "k"), std::nullopt);
  EXPECT_EQ(query_value("k=%zz", "k"), std::nullopt);
  EXPECT_EQ(query_value("", "k"), std::nullopt);
}

}  // namespace
}  // namespace penstock::admin
