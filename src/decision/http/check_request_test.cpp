#include "decision/http/check_request.hpp"

#include <gtest/gtest.h>

namespace penstock::decision {
namespace {

// What is not said has the meaning that openapi.yaml promises.
TEST(CheckRequest, ReadsOneQuestion) {
  const auto q = read_check_questions(
      R"({"method":"POST","path":"/a?b=c","host":"h","address":"2001:db8::1","user":"u",
          "headers":{"X-A":"1","X-B":["2","3"]},"cost":0,"peek":true})");
  ASSERT_TRUE(q) << q.error().message;
  EXPECT_FALSE(q->batch);
  ASSERT_EQ(q->all.size(), 1U);
  const auto& one = q->all[0];
  EXPECT_EQ(one.method, "POST");
  EXPECT_EQ(one.target, "/a?b=c");
  EXPECT_EQ(one.host, "h");
  EXPECT_EQ(one.address->to_string(), "2001:db8::1");
  EXPECT_EQ(one.user, "u");
  ASSERT_EQ(one.fields.size(), 3U);
  EXPECT_EQ(one.fields[2].name, "X-B");
  EXPECT_EQ(one.fields[2].value, "3");
  EXPECT_EQ(one.cost, 0);
  EXPECT_TRUE(one.peek);
  const auto empty = read_check_questions("{}");
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->all[0].method, "GET");
  EXPECT_EQ(empty->all[0].target, "/");
  EXPECT_EQ(empty->all[0].cost, -1);
  EXPECT_FALSE(empty->all[0].peek);
}

// A charge by name, alone or together with others.
TEST(CheckRequest, ReadsCharges) {
  const auto one = read_check_questions(R"({"limit":"login","key":"user:42","cost":3})");
  ASSERT_TRUE(one) << one.error().message;
  ASSERT_EQ(one->all[0].stated.size(), 1U);
  EXPECT_EQ(one->all[0].stated[0].limit, "login");
  EXPECT_EQ(one->all[0].stated[0].key[0], "user:42");
  EXPECT_EQ(one->all[0].stated[0].cost, 3);
  const auto two = read_check_questions(
      R"({"charges":[{"limit":"a"},{"limit":"b","key":["user:1","route:/x"],"cost":0}],"peek":true})");
  ASSERT_TRUE(two) << two.error().message;
  ASSERT_EQ(two->all[0].stated.size(), 2U);
  EXPECT_TRUE(two->all[0].stated[0].key.empty());
  EXPECT_EQ(two->all[0].stated[0].cost, -1);
  EXPECT_EQ(two->all[0].stated[1].key.size(), 2U);
}

// A program that is wrong learns where, and is never answered with a guess.
TEST(CheckRequest, NamesThePlaceOfWhatIsWrong) {
  const struct {
    const char* json;
    const char* message;
  } rows[] = {
      {"", "the body is not JSON"},
      {"{}x", "the body is not JSON"},
      {"[]", "is an object"},
      {R"({"cots":1})", "cots: is not a member of a check"},
      {R"({"cost":-1})", "cost: is a whole number"},
      {R"({"cost":1.0})", "cost: is a whole number"},
      {R"({"cost":9007199254740992})", "cost: is a whole number"},
      {R"({"cost":"1"})", "cost: is a whole number"},
      {R"({"peek":1})", "peek: is true or false"},
      {R"({"method":"G T"})", "method: is an HTTP method"},
      {R"({"method":""})", "method: is a text"},
      {R"({"address":"1.2.3.4:80"})", "address: is an IPv4"},
      {R"({"headers":[]})", "headers: maps names"},
      {R"({"headers":{"a":1}})", "headers: maps names"},
      {R"({"headers":{"a":[["b"]]}})", "headers: maps names"},
      {R"({"key":"user:1"})", "key: belongs to a limit"},
      {R"({"limit":"a","path":"/"})", "limit: and charges stand in place"},
      {R"({"limit":"a","charges":[{"limit":"b"}]})", "limit: stands in each"},
      {R"({"charges":[{"limit":"b"}],"cost":1})", "cost: stands in each"},
      {R"({"charges":[]})", "charges: is a list of 1 to 64"},
      {R"({"charges":[{"key":"a"}]})", "charges: name a limit each"},
      {R"({"charges":[{"limit":"b","peek":true}]})", "peek: is not a member of a charge"},
      {R"({"limit":"a","key":1})", "key: is a text like"},
      {R"({"limit":"a","key":[1]})", "key: is a text"},
      {R"({"checks":[]})", "checks: is a list of 1 to 100"},
      {R"({"checks":{}})", "checks: is a list of 1 to 100"},
      {R"({"checks":[{}],"peek":true})", "checks: stands alone"},
      {R"({"checks":[{},{"cost":-2}]})", "checks[1].cost: is a whole number"},
      {R"({"checks":[{},1]})", "checks[1]: is an object"},
  };
  for (const auto& r : rows) {
    const auto got = read_check_questions(r.json);
    ASSERT_FALSE(got) << r.json;
    EXPECT_EQ(got.error().message.find(r.message), 0U) << r.json << ": " << got.error().message;
  }
}

// Deep nesting and long lists end in an error, not in a deep stack or a long wait.
TEST(CheckRequest, IsBounded) {
  EXPECT_FALSE(read_check_questions(std::string(100'000, '[')));
  std::string many = "{\"checks\":[{}";
  for (int i = 1; i < 100; ++i) many += ",{}";
  EXPECT_TRUE(read_check_questions(many + "]}"));
  EXPECT_FALSE(read_check_questions(many + ",{}]}"));
}

}  // namespace
}  // namespace penstock::decision
