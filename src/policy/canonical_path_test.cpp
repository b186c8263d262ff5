#include "policy/canonical_path.hpp"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace penstock::policy {
namespace {

struct forms {
  std::string canonical;  // "": refused
  std::string matched;
};

forms forms_of(std::string_view path, const paths_spec& options = {}) {
  forms f;
  std::string scratch;
  if (canonicalise(path, options, f.canonical) != nullptr) return {};
  f.matched = match_form(f.canonical, options, scratch);
  return f;
}

struct row {
  const char* given;
  const char* canonical;  // nullptr: refused
  const char* matched;
};

const row rows[] = {
    {"/login", "/login", "/login"},
    {"/login/", "/login/", "/login"},
    {"//login", "/login", "/login"},
    {"/./login", "/login", "/login"},
    {"/a/../login", "/login", "/login"},
    {"/a/b/../../login//", "/login/", "/login"},
    {"/%6cogin", "/login", "/login"},
    {"/%6Cogin", "/login", "/login"},
    {"/login;x", "/login", "/login"},
    {"/login;x=1/;y", "/login/", "/login"},
    {"/api;x=1/users;y", "/api/users", "/api/users"},
    {"/LOGIN", "/LOGIN", "/LOGIN"},
    {"", "/", "/"},
    {"/", "/", "/"},
    {"///", "/", "/"},
    {"/.", "/", "/"},
    {"/a/..", "/", "/"},
    {"/a/b/..", "/a/", "/a"},
    {"/a/.", "/a/", "/a"},
    {"/...", "/...", "/..."},
    {"/.well-known/x", "/.well-known/x", "/.well-known/x"},
    {"*", "*", "*"},
    {"/api/./v1/x/../users", "/api/v1/users", "/api/v1/users"},
    {"/public/%2e%2e/admin", "/admin", "/admin"},
    {"/public/..;/admin", "/admin", "/admin"},
    {"/public/%2E%2e;x/admin", "/admin", "/admin"},
    // Decoded once: an escaped percent sign stays one.
    {"/a/%252e%252e/b", "/a/%252e%252e/b", "/a/%252e%252e/b"},
    {"/%256Cogin", "/%256Cogin", "/%256Cogin"},
    // One spelling for bytes that need an escape, in either case.
    {"/caf%c3%a9", "/caf%C3%A9", "/caf%C3%A9"},
    {"/caf\xc3\xa9", "/caf%C3%A9", "/caf%C3%A9"},
    {"/a%20b", "/a%20b", "/a%20b"},
    {"/a|b", "/a%7Cb", "/a%7Cb"},
    {"/%3f%23%5b", "/%3F%23%5B", "/%3F%23%5B"},
    {"/a%3bb", "/a%3Bb", "/a%3Bb"},
    // Upstreams serve the same for these, so they match the same; what was sent is forwarded.
    {"/@me", "/@me", "/@me"},
    {"/%40me", "/%40me", "/@me"},
    {"/a%2bb%3D", "/a%2Bb%3D", "/a+b="},
    // Ambiguous.
    {"/login%2f", nullptr, nullptr},
    {"/a%2Fb", nullptr, nullptr},
    {"/a%5Cb", nullptr, nullptr},
    {"/a\\b", nullptr, nullptr},
    {"\\login", nullptr, nullptr},
    {"/a%00b", nullptr, nullptr},
    {"/a%0d%0aX: 1", nullptr, nullptr},
    {"/a%7f", nullptr, nullptr},
    {"/a\tb", nullptr, nullptr},
    {"/a b", nullptr, nullptr},
    {"/a%", nullptr, nullptr},
    {"/a%2", nullptr, nullptr},
    {"/a%zz", nullptr, nullptr},
    {"/%u002e", nullptr, nullptr},
    {"/a;%2", nullptr, nullptr},
    {"/a;%2f", nullptr, nullptr},
    {"/..", nullptr, nullptr},
    {"/a/../..", nullptr, nullptr},
    {"/%2e%2e/a", nullptr, nullptr},
    {"login", nullptr, nullptr},
    {"/a?b", nullptr, nullptr},
    {"/a#b", nullptr, nullptr},
    {"/%c0%ae%c0%ae/admin", nullptr, nullptr},
    {"/%e0%80%ae", nullptr, nullptr},
    {"/%f0%80%80%ae", nullptr, nullptr},
    {"/%C0%\x41", nullptr, nullptr},
    {"/caf%E9", "/caf%E9", "/caf%E9"},
};

// Every spelling that an upstream would serve as one path must be counted as one path.
TEST(canonical_path, follows_the_table) {
  for (const row& r : rows) {
    const forms f = forms_of(r.given);
    EXPECT_EQ(f.canonical, r.canonical == nullptr ? "" : r.canonical) << r.given;
    EXPECT_EQ(f.matched, r.matched == nullptr ? "" : r.matched) << r.given;
  }
  EXPECT_EQ(forms_of(std::string_view("/a\0b", 4)).canonical, "");
}

// Operators with upstreams that ignore case or need encoded slashes can say so.
TEST(canonical_path, follows_the_options) {
  const paths_spec fold{.fold_case = true, .keep_encoded_slash = false};
  EXPECT_EQ(forms_of("/Login/", fold).canonical, "/Login/");
  EXPECT_EQ(forms_of("/Login/", fold).matched, "/login");
  EXPECT_EQ(forms_of("/a%2bB", fold).matched, "/a+b");
  const paths_spec keep{.fold_case = false, .keep_encoded_slash = true};
  EXPECT_EQ(forms_of("/a%2fb", keep).canonical, "/a%2Fb");
  EXPECT_EQ(forms_of("/a%2f..%2Fb", keep).canonical, "");
  EXPECT_EQ(forms_of("/..%2fb", keep).canonical, "");
  EXPECT_EQ(forms_of("/a%5cb", keep).canonical, "");
}

// The form is final, so a second pass (a second gateway) changes nothing, and it hides nothing.
TEST(canonical_path, is_idempotent_and_clean) {
  const auto piece = rc::gen::element<std::string>(
      "/", "//", ".", "..", "%2e", "%2E", ";", ";x", "a", "B", "%41", "%25", "%2f", "%c3", "%A9",
      "\xc3\xa9", "@", "%40", "%3b", "*", "~", "|", "%7C", "%20");
  EXPECT_TRUE(rc::check([&](bool fold, bool keep) {
    const paths_spec options{.fold_case = fold, .keep_encoded_slash = keep};
    std::string path = "/";
    for (const auto& p : *rc::gen::container<std::vector<std::string>>(piece)) path += p;
    std::string once;
    if (canonicalise(path, options, once) != nullptr) return;
    std::string twice;
    RC_ASSERT(canonicalise(once, options, twice) == nullptr);
    RC_ASSERT(once == twice);
    RC_ASSERT((once + "/").find("/../") == std::string::npos);
    RC_ASSERT((once + "/").find("/./") == std::string::npos);
    RC_ASSERT(once.find("//") == std::string::npos);
    RC_ASSERT(once.find(';') == std::string::npos);
  }));
}

}  // namespace
}  // namespace penstock::policy
