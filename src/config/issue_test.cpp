#include "config/issue.hpp"

#include <gtest/gtest.h>

namespace penstock::config {
namespace {

// The shape that editors and people jump to.
TEST(Issue, ShowsPlacePathLineCaretAndHint) {
  const issue i{.file = "policy.yaml",
                .at = {2, 9},
                .path = "limits[2].rate",
                .message = "\"10/x\" is not a rate",
                .hint = "did you mean \"10/s\"?"};
  EXPECT_EQ(format(i, "version: 1\n  rate: 10/x\n"),
            "policy.yaml:2:9: limits[2].rate: \"10/x\" is not a rate\n"
            "  2 |   rate: 10/x\n"
            "    |         ^\n"
            "  hint: did you mean \"10/s\"?\n");
}

// A source line is printed to terminals and logs: no secret may ride on it.
TEST(Issue, MasksSecretsOfTheSourceLine) {
  struct row {
    const char* name;
    const char* line;
    const char* shown;
  };
  const row rows[] = {
      {"password in a URL", "store: { url: \"redis://u:hunter2@h:1/x\" }",
       "store: { url: \"redis://*********@h:1/x\" }"},
      {"@ in a password", "url: redis://:a@b@h", "url: redis://****@h"},
      {"space in a password", "url: \"redis://:a b\"@h", "url: \"redis://*****@h"},
      {"two URLs", "a: x://p@h, b: y://q@h", "a: x://*************@h"},
      {"token", "admin: { token: hunter2 }", "admin: { token: *********"},
      {"quoted token", "token: \"a, b\"", "token: \"*****"},
      {"no secret", "key: address # mail me@example.com", "key: address # mail me@example.com"},
  };
  for (const auto& r : rows) {
    const issue i{.file = "f", .at = {1, 1}, .message = "m"};
    EXPECT_EQ(format(i, r.line), std::string("f:1:1: m\n  1 | ") + r.shown + "\n    | ^\n")
        << r.name;
  }
}

// The caret points at a secret when a secret is what is wrong.
TEST(Issue, MasksWhatTheCaretPointsAtWhenThatIsSecret) {
  const issue i{.file = "f", .at = {1, 4}, .message = "m", .secret = true};
  EXPECT_EQ(format(i, "a: hunter2"), "f:1:4: m\n  1 | a: *******\n    |    ^\n");
}

// Terminals would obey escape sequences, and a caret under the wrong letter misleads.
TEST(Issue, KeepsTheLineHarmlessAndTheCaretInPlace) {
  const issue i{.file = "f", .at = {1, 6}, .message = "m"};
  EXPECT_EQ(format(i, "\xC3\xA9\t\x1b: x"), "f:1:6: m\n  1 | \xC3\xA9\t?: x\n    |  \t  ^\n");
}

// A minified file must not fill the screen.
TEST(Issue, ShowsALongLineAroundTheCaret) {
  const std::string line = std::string(1000, 'a') + "X" + std::string(1000, 'b');
  const issue i{.file = "f", .at = {1, 1001}, .message = "m"};
  EXPECT_EQ(format(i, line), "f:1:1001: m\n  1 | " + std::string(80, 'a') + "X" +
                                 std::string(79, 'b') + "\n    | " + std::string(80, ' ') + "^\n");
}

}  // namespace
}  // namespace penstock::config
