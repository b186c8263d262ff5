#include "config/side_files.hpp"

#include <map>
#include <string>

#include <gtest/gtest.h>

#include "base/sha256.hpp"

namespace penstock::config {
namespace {

std::string digest(std::string_view key) {
  std::string hex;
  append_hex(hex, sha256(key));
  return hex;
}

policy::policy_spec with_plans() {
  policy::policy_spec spec;
  spec.identity.api_key = policy::api_key_spec{.name = "X-API-Key", .known = "keys.txt"};
  spec.plans = {{"free", {}}, {"premium", {}}};
  policy::limit_spec limit;
  limit.plan = policy::plan_reference{
      .by = policy::key_kind::api_key, .from = "plans.csv", .fallback = "free"};
  spec.limits = {limit};
  return spec;
}

side_files load(const policy::policy_spec& spec, std::map<std::string, std::string> files) {
  return load_side_files(spec, "/etc/penstock", [&](const std::string& path) {
    const auto at = files.find(path);
    return at == files.end() ? std::nullopt : std::optional<std::string>(at->second);
  });
}

// Keys in clear and as digests are the same keys, whatever editor wrote the file.
TEST(SideFiles, ReadsKeysInClearAndAsDigests) {
  const auto got = load(
      with_plans(), {{"/etc/penstock/keys.txt",
                      "\xEF\xBB\xBF# ours\r\n\r\nalpha\r\n  sha256:" + digest("beta") + "  \r\n"},
                     {"/etc/penstock/plans.csv",
                      "key,plan\nalpha,premium\nsha256:" + digest("beta") + ", free\n"}});
  EXPECT_TRUE(got.issues.empty()) << format(got.issues, {});
  EXPECT_EQ(got.tables.known_keys_sha256, (std::vector{digest("alpha"), digest("beta")}));
  std::map<std::string, std::string> plans(got.tables.plan_of.begin(), got.tables.plan_of.end());
  EXPECT_EQ(plans, (std::map<std::string, std::string>{{digest("alpha"), "premium"},
                                                       {digest("beta"), "free"}}));
  EXPECT_EQ(got.files,
            (std::vector<std::string>{"/etc/penstock/keys.txt", "/etc/penstock/plans.csv"}));
}

// A user is a name, not a secret, and may hold a comma.
TEST(SideFiles, UsersAreNamesAsTheyAre) {
  auto spec = with_plans();
  spec.identity = {};
  spec.limits[0].plan->by = policy::key_kind::user;
  const auto got = load(spec, {{"/etc/penstock/plans.csv", "Doe, Jane,premium\n"}});
  EXPECT_TRUE(got.issues.empty()) << format(got.issues, {});
  EXPECT_EQ(got.tables.plan_of,
            (std::vector<std::pair<std::string, std::string>>{{"Doe, Jane", "premium"}}));
}

struct bad_row {
  const char* name;
  const char* keys;
  const char* plans;
  const char* want;
};

// Each problem names its file and line, and never repeats a key.
TEST(SideFiles, NamesFileAndLineOfEveryProblem) {
  const bad_row rows[] = {
      {"no file", nullptr, "",
       "/etc/penstock/keys.txt: cannot be read\n  hint: the file must exist and be readable\n"},
      {"bad digest", "ok\nsha256:12\n", "",
       "/etc/penstock/keys.txt:2:1: sha256: must be followed by 64 hexadecimal digits\n  hint: or "
       "write the key itself\n"},
      {"no comma", "", "secret\n",
       "/etc/penstock/plans.csv:1:1: is not WHO,PLAN\n  hint: for example: sha256:HEX,premium\n"},
      {"unknown plan", "", "secret,premum\n",
       "/etc/penstock/plans.csv:1:1: unknown plan \"premum\"\n  hint: did you mean \"premium\"?\n"},
      {"two plans", "", "secret,free\nsecret,premium\n",
       "/etc/penstock/plans.csv:2:1: gives a second plan to the one of /etc/penstock/plans.csv:1\n "
       " hint: keep one of the two lines\n"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.name);
    std::map<std::string, std::string> files{{"/etc/penstock/plans.csv", row.plans}};
    if (row.keys != nullptr) files["/etc/penstock/keys.txt"] = row.keys;
    EXPECT_EQ(format(load(with_plans(), files).issues, {}), row.want);
  }
}

}  // namespace
}  // namespace penstock::config
