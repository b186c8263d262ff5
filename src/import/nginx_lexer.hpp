// nginx's configuration language cut into words, as ngx_conf_read_token does it: quotes only at the
// start of a word, a backslash keeps the next character from ending it, ${name} does not open a
// block, '#' begins a comment only where a word could begin. Bodies of *_by_lua_block are skipped.
// Pure; the tokens own their text.
// Source: nginx src/core/ngx_conf_file.c.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "import/place.hpp"

namespace penstock::import {

enum class token_kind : std::uint8_t { word, semicolon, open, close };

struct token {
  token_kind kind = token_kind::word;
  std::string text;  // word: unescaped, without its quotes
  int line = 0;      // where it begins
  friend bool operator==(const token&, const token&) = default;
};

// Longest word, as nginx has it.
inline constexpr std::size_t longest_word = 4096;

// `file` is for messages. Errors: invalid_config with place and remedy, where nginx would refuse
// the text: an open quote, something behind a closing quote, an endless word.
[[nodiscard]] result<std::vector<token>> tokenize(const std::string& file, std::string_view text);

}  // namespace penstock::import
