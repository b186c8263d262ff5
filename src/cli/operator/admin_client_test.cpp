#include "cli/operator/admin_client.hpp"

#include <map>

#include <gtest/gtest.h>

#include "cli/commands.hpp"

namespace penstock::cli {
namespace {

struct surroundings {
  std::map<std::string, std::string> set;
  std::optional<std::string> operator()(const char* name) const {
    const auto at = set.find(name);
    return at == set.end() ? std::nullopt : std::optional(at->second);
  }
};

// In a container the daemon's own PENSTOCK_ADMIN is set, and it says where it listens, not whom to
// ask: everywhere means here.
TEST(FindAdmin, FlagThenEnvironmentThenDefault) {
  const struct {
    const char* flag;
    const char* variable;
    const char* want;
  } rows[] = {
      {"", "", "127.0.0.1:7070"},
      {"", ":9000", "127.0.0.1:9000"},
      {"", "0.0.0.0:9000", "127.0.0.1:9000"},
      {"", "[::]:9000", "[::1]:9000"},
      {"localhost:1", ":9000", "localhost:1"},
      {"unix:/run/penstock.sock", "", "unix:/run/penstock.sock"},
  };
  for (const auto& r : rows) {
    const auto place =
        find_admin({.address = r.flag}, surroundings{{{"PENSTOCK_ADMIN", r.variable}}});
    ASSERT_TRUE(place) << place.error().message;
    EXPECT_EQ(config::to_text(place->address), r.want);
    EXPECT_TRUE(place->token.empty());
    EXPECT_EQ(place->options.deadline, std::chrono::seconds{5});
  }
}

// What cannot be used is said with what to do, and is a usage error.
TEST(FindAdmin, SaysWhatCannotBeUsed) {
  const struct {
    admin_flags flags;
    const char* want;
  } rows[] = {
      {{.address = "7070"}, "did you mean \":7070\""},
      {{.address = "127.0.0.1:0"}, "port 0 is for listening"},
      {{.address = "10.0.0.5:7070"}, "is not this machine"},
      {{.address = "penstock.example:7070"}, "ssh -L"},
      {{.deadline = "soon"}, "--deadline"},
      {{.deadline = "0"}, "more than 0"},
      {{.token_file = "/nonexistent/token"}, "cannot be read"},
      {{.token_file = "/dev/null"}, "is empty"},
  };
  for (const auto& r : rows) {
    const auto place = find_admin(r.flags, surroundings{});
    ASSERT_FALSE(place) << r.want;
    EXPECT_NE(place.error().message.find(r.want), std::string::npos) << place.error().message;
    EXPECT_EQ(exit_code_of(place.error()), exit_usage);
  }
  EXPECT_TRUE(find_admin({.address = "10.0.0.5:7070", .plaintext = true}, surroundings{}));
}

// A token with a line end would be a header of its own; it is never shown either.
TEST(FindAdmin, TokensComeFromTheEnvironmentAndCannotSplitARequest) {
  const auto from = [](const char* token) {
    return find_admin({}, surroundings{{{"PENSTOCK_ADMIN_TOKEN", token}}});
  };
  EXPECT_EQ(from("s3cret")->token, "s3cret");
  const auto split = from("s3cret\r\nX: y");
  ASSERT_FALSE(split);
  EXPECT_EQ(split.error().message.find("s3cret"), std::string::npos);
}

}  // namespace
}  // namespace penstock::cli
