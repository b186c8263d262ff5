#include "policy/path_index.hpp"

#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace penstock::policy {
namespace {

path_pattern pattern(std::string_view text, bool fold = false) {
  auto p = path_pattern::parse(text, fold);
  EXPECT_TRUE(p) << text;
  return *std::move(p);
}

struct row {
  const char* pattern;
  const char* path;
  bool matches;
};

const row rows[] = {
    {"/login", "/login", true},
    {"/login", "/login/x", false},
    {"/login", "/logi", false},
    {"/login/", "/login", true},
    {"/", "/", true},
    {"/", "/a", false},
    {"", "/", true},
    {"", "/a/b", true},
    {"", "*", true},
    {"/**", "/", true},
    {"/**", "/a/b", true},
    {"/**", "*", true},
    {"/*", "*", false},
    {"/*", "/", false},
    {"/*", "/a", true},
    {"/*", "/a/b", false},
    {"/api/**", "/api", true},
    {"/api/**", "/api/a/b", true},
    {"/api/**", "/apix", false},
    {"/a/*/b", "/a/x/b", true},
    {"/a/*/b", "/a/b", false},
    {"/users/{id}/export", "/users/42/export", true},
    {"/users/{id}/export", "/users/export", false},
    {"/a/**/b", "/a/b", true},
    {"/a/**/b", "/a/x/y/b", true},
    {"/a/**/b", "/a/x/y/b/c", false},
    {"/a/**/b", "/a", false},
    {"/a/**/b/**", "/a/b", true},
    {"/a/**/b/*/c", "/a/b/b/x/c", true},
    {"/a/**/b/*/c", "/a/b/c/b/c", false},
    {"/**/x/**/y", "/x/y", true},
    {"/**/x/**/y", "/a/x/b/y/c/y", true},
    {"/**/x/**/y", "/a/y/x", false},
    {"/%7Eme", "/~me", true},
    {"/a%2fb", "/a%2Fb", true},
    {"/%40me", "/@me", true},
};

// The pattern alone and the index must agree on every row; exempt rules use the first, limits both.
TEST(path_pattern, follows_the_table) {
  for (const row& r : rows) {
    EXPECT_EQ(pattern(r.pattern).matches(r.path), r.matches) << r.pattern << " " << r.path;
    path_index index;
    index.add("", pattern(r.pattern), 7);
    std::vector<std::uint32_t> found;
    index.find("", r.path, found);
    EXPECT_EQ(!found.empty(), r.matches) << r.pattern << " " << r.path;
  }
}

// A pattern that can never match is a mistake that would leave a path without its limit.
TEST(path_pattern, refuses_what_cannot_be_meant) {
  for (const char* bad : {"login", "/a*", "/*.json", "/a/../b", "/{", "/{}", "/{a}b", "/{a*}",
                          "/a b", "/%zz", "/a?x", "/***"}) {
    EXPECT_FALSE(path_pattern::parse(bad, false)) << bad;
  }
  std::string deep;
  for (int i = 0; i < 65; ++i) deep += "/a";
  EXPECT_FALSE(path_pattern::parse(deep, false));
}

// Folding applies to the pattern as it does to requests.
TEST(path_pattern, folds_its_literals_on_demand) {
  EXPECT_TRUE(pattern("/Login", true).matches("/login"));
  EXPECT_FALSE(pattern("/Login", false).matches("/login"));
}

std::vector<std::uint32_t> found_in(const path_index& index, std::string_view host,
                                    std::string_view path) {
  std::vector<std::uint32_t> found;
  index.find(host, path, found);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

// Tenants share a gateway: a limit for one host must never count another's requests.
TEST(path_index, selects_by_host) {
  path_index index;
  index.add("", pattern("/a"), 0);
  index.add("api.example.com", pattern("/a"), 1);
  index.add("*.example.com", pattern("/**"), 2);
  index.add("example.com", pattern("/a"), 3);
  using ids = std::vector<std::uint32_t>;
  EXPECT_EQ(found_in(index, "api.example.com", "/a"), (ids{0, 1, 2}));
  EXPECT_EQ(found_in(index, "x.y.example.com", "/a"), (ids{0, 2}));
  EXPECT_EQ(found_in(index, "example.com", "/a"), (ids{0, 3}));
  EXPECT_EQ(found_in(index, ".example.com", "/a"), (ids{0}));
  EXPECT_EQ(found_in(index, "badexample.com", "/a"), (ids{0}));
  EXPECT_EQ(found_in(index, "", "/a"), (ids{0}));
  EXPECT_EQ(found_in(index, "x.example.com", "*"), (ids{2}));
}

// The index is an optimisation: it must find exactly what trying every pattern finds.
TEST(path_index, finds_what_trying_every_pattern_finds) {
  const auto segment = rc::gen::element<std::string>("/a", "/b", "/c", "/*", "/{x}", "/**");
  const auto literal = rc::gen::element<std::string>("/a", "/b", "/c", "/d");
  const auto join = [](const std::vector<std::string>& parts) {
    std::string text;
    for (const auto& p : parts) text += p;
    return text.empty() ? "/" : text;
  };
  const auto texts =
      rc::gen::resize(8, rc::gen::container<std::vector<std::string>>(rc::gen::map(
                             rc::gen::container<std::vector<std::string>>(segment), join)));
  EXPECT_TRUE(rc::check([&] {
    const std::vector<std::string> written = *texts;
    const std::string path =
        join(*rc::gen::resize(8, rc::gen::container<std::vector<std::string>>(literal)));
    path_index index;
    std::vector<std::uint32_t> want;
    for (std::uint32_t i = 0; i < written.size(); ++i) {
      const auto p = path_pattern::parse(written[i], false);
      RC_PRE(p.has_value());
      index.add("", *p, i);
      if (p->matches(path)) want.push_back(i);
    }
    RC_ASSERT(found_in(index, "", path) == want);
  }));
}

}  // namespace
}  // namespace penstock::policy
