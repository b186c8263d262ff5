#include "import/nginx_lexer.hpp"

#include <gtest/gtest.h>

namespace penstock::import {
namespace {

// Words in brackets, signs as they are: "[a][b c];".
std::string cut(std::string_view text) {
  const auto tokens = tokenize("f", text);
  if (!tokens) return tokens.error().message;
  std::string out;
  for (const auto& t : *tokens) {
    switch (t.kind) {
      case token_kind::word:
        out += "[" + t.text + "]";
        break;
      case token_kind::semicolon:
        out += ";";
        break;
      case token_kind::open:
        out += "{";
        break;
      case token_kind::close:
        out += "}";
        break;
    }
  }
  return out;
}

// nginx's own rules are not those of a shell: a file that it reads must not be read otherwise here.
// The words were checked against nginx 1.22.1.
TEST(NginxLexer, CutsAsNginxDoes) {
  struct row {
    const char* name;
    const char* text;
    const char* want;
  };
  const row rows[] = {
      {"words and signs", "a b;c{d;}", "[a][b];[c]{[d];}"},
      {"white space of every kind", " a\tb\r\n ; ", "[a][b];"},
      {"comment to the end of the line", "a b; # c; d {\ne;", "[a][b];[e];"},
      {"a sharp inside a word is no comment", "a b#c;", "[a][b#c];"},
      {"quotes keep everything", "a \"b ;{}#'\" 'c\"d';", "[a][b ;{}#'][c\"d];"},
      {"a quote inside a word is a letter", "a b\"c d;", "[a][b\"c][d];"},
      {"escapes in quotes", R"(a "\"\\\t\n\r" '\'';)", "[a][\"\\\t\n\r]['];"},
      {"a backslash before another letter stays", R"(a ^/x\.php$ "\d";)", R"([a][^/x\.php$][\d];)"},
      {"a backslash keeps a sign in the word", R"(a b\;c\ d\{;)", R"([a][b\;c\ d\{];)"},
      {"braces around a variable", "a ${b}c$d;", "[a][${b}c$d];"},
      {"a brace behind a variable opens a block", "a $b{c;}", "[a][$b]{[c];}"},
      {"a closing brace inside a word", "a b}c;", "[a][b}c];"},
      {"a bracket behind a quote", "if (\"a\" = \"b\") {}", "[if][(\"a\"][=][b][)]{}"},
      {"a quote over two lines", "a 'b\nc';", "[a][b\nc];"},
      {"an empty word", "a \"\";", "[a][];"},
      {"a word at the end", "a", "[a]"},
      {"a Lua block is skipped", "x_by_lua_block { s = \"}\" -- }\n t = {} } b;",
       "[x_by_lua_block]{}[b];"},
      {"an open quote", "a;\nb 'c;\n", "f:2: the quote is never closed: add ' where the word ends"},
      {"a letter behind a quote", "a \"b\"c;",
       "f:1: unexpected \"c\": a space or ; has to follow the closing quote"},
      {"an open Lua block", "a_by_lua_block {",
       "f:1: the Lua block is never closed: add } where it ends"},
  };
  for (const auto& r : rows) EXPECT_EQ(cut(r.text), r.want) << r.name;
}

// A missing quote swallows the rest of a file; the message has to lead to it.
TEST(NginxLexer, BoundsWords) {
  EXPECT_EQ(
      cut("\n a " + std::string(longest_word, 'b') + ";"),
      "f:2: a word of 4096 octets: nginx reads at most 4095: is a quote or a semicolon missing?");
}

// Remarks name lines.
TEST(NginxLexer, CountsLines) {
  const auto tokens = tokenize("f", "a\n'b\n\nc'\nd;#\n}");
  ASSERT_TRUE(tokens);
  std::vector<int> lines;
  for (const auto& t : *tokens) lines.push_back(t.line);
  EXPECT_EQ(lines, (std::vector<int>{1, 2, 5, 5, 6}));
}

}  // namespace
}  // namespace penstock::import
