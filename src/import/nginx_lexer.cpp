#include "import/nginx_lexer.hpp"

namespace penstock::import {
namespace {

bool is_space(char c) noexcept {
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

class lexer {
 public:
  lexer(const std::string& file, std::string_view text) : file_(file), text_(text) {}

  result<std::vector<token>> run() {
    while (skip_blank()) {
      if (auto ok = next(); !ok) return ok.error();
    }
    return std::move(out_);
  }

 private:
  // To the start of the next token; false at the end.
  bool skip_blank() {
    while (at_ < text_.size()) {
      if (text_[at_] == '#') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (is_space(text_[at_])) {
        step();
      } else {
        return true;
      }
    }
    return false;
  }

  void step() {
    if (text_[at_] == '\n') ++line_;
    ++at_;
  }

  result<bool> next() {
    const int line = line_;
    const char c = text_[at_];
    if (c == ';' || c == '{' || c == '}') {
      ++at_;
      out_.push_back({c == ';'   ? token_kind::semicolon
                      : c == '{' ? token_kind::open
                                 : token_kind::close,
                      {},
                      line});
      return c == '{' && is_lua() ? skip_lua() : true;
    }
    return c == '"' || c == '\'' ? quoted_word(c) : bare_word();
  }

  result<bool> quoted_word(char quote) {
    const place begin{file_, line_};
    step();
    const std::size_t from = at_;
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) step();
      step();
    }
    if (at_ >= text_.size()) {
      return fault(begin, "the quote is never closed",
                   std::string("add ") + quote + " where the word ends");
    }
    if (auto ok = add_word(begin, text_.substr(from, at_ - from)); !ok) return ok;
    ++at_;
    if (at_ >= text_.size() || is_space(text_[at_]) || text_[at_] == ';' || text_[at_] == '{') {
      return true;
    }
    if (text_[at_] == ')') return bare_word();  // as in if ("$a" = "b")
    return fault({file_, line_}, "unexpected \"" + shown(text_.substr(at_, 1)) + "\"",
                 "a space or ; has to follow the closing quote");
  }

  result<bool> bare_word() {
    const place begin{file_, line_};
    const std::size_t from = at_;
    bool variable = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '{' && variable) {
        variable = false;
        ++at_;
        continue;
      }
      if (is_space(c) || c == ';' || c == '{') break;
      variable = c == '$';
      if (c == '\\' && at_ + 1 < text_.size()) step();
      step();
    }
    return add_word(begin, text_.substr(from, at_ - from));
  }

  result<bool> add_word(const place& begin, std::string_view raw) {
    if (raw.size() >= longest_word) {
      return fault(begin, "a word of " + std::to_string(raw.size()) + " octets",
                   "nginx reads at most 4095: is a quote or a semicolon missing?");
    }
    token t{token_kind::word, {}, begin.line};
    t.text.reserve(raw.size());
    for (std::size_t i = 0; i < raw.size(); ++i) {
      if (raw[i] != '\\' || i + 1 == raw.size()) {
        t.text += raw[i];
        continue;
      }
      switch (raw[i + 1]) {
        case '"':
        case '\'':
        case '\\':
          t.text += raw[++i];
          break;
        case 't':
          t.text += '\t', ++i;
          break;
        case 'r':
          t.text += '\r', ++i;
          break;
        case 'n':
          t.text += '\n', ++i;
          break;
        default:
          t.text += raw[i];  // the backslash stays, as in a regular expression
      }
    }
    out_.push_back(std::move(t));
    return true;
  }

  // Whether the block that opens is a program in Lua (OpenResty).
  [[nodiscard]] bool is_lua() const {
    for (auto t = out_.rbegin() + 1; t != out_.rend() && t->kind == token_kind::word; ++t) {
      if (t->text.ends_with("_by_lua_block")) return true;
    }
    return false;
  }

  // To the brace that closes it: braces in strings and comments of the program do not count.
  result<bool> skip_lua() {
    const place begin{file_, line_};
    int depth = 1;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"' || c == '\'') {
        skip_lua_string(c);
        continue;
      }
      if (text_.substr(at_).starts_with("--")) {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
        continue;
      }
      depth += c == '{' ? 1 : c == '}' ? -1 : 0;
      if (depth == 0) return true;  // the brace itself is the next token
      step();
    }
    return fault(begin, "the Lua block is never closed", "add } where it ends");
  }

  void skip_lua_string(char quote) {
    step();
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') {
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) step();
      step();
    }
    if (at_ < text_.size()) step();
  }

  const std::string& file_;
  std::string_view text_;
  std::size_t at_ = 0;
  int line_ = 1;
  std::vector<token> out_;
};

}  // namespace

result<std::vector<token>> tokenize(const std::string& file, std::string_view text) {
  return lexer(file, text).run();
}

}  // namespace penstock::import
