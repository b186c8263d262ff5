#include "config/document.hpp"

#include <algorithm>
#include <sstream>
#include <unordered_map>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "config/grammar/parsed.hpp"

namespace penstock::config {
namespace {

// Thrown through the library when reading on makes no sense; the issue is already noted.
struct stop_reading {};

policy::place place_of(const YAML::Mark& mark) {
  if (mark.is_null()) return {};
  return {mark.line + 1, mark.column + 1};
}

class tree_builder final : public YAML::EventHandler {
 public:
  tree_builder(const std::string& file, std::string_view text, std::vector<issue>& issues)
      : file_(file), issues_(issues) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    for (std::size_t from = 0; from <= text.size();) {
      const auto end = std::min(text.find('\n', from), text.size());
      lines_.push_back(text.substr(from, end - from));
      from = end + 1;
    }
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) {
      add(place_of(mark), "a second document begins here",
          "one file holds one document: remove the ---");
      throw stop_reading{};
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    check_anchor(mark, anchor);
    put({.what = node::type::null, .at = place_of(mark)});
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    add(place_of(mark), "aliases are not accepted",
        "write the value out; a text that begins with * stands in quotes");
    put({.what = node::type::refused, .at = place_of(mark)});
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_anchor(mark, anchor);
    check_tag(mark, tag);
    auto at = place_of(mark);
    const bool plain = tag != "!";
    bool literal = stands_at(at, value);
    if (!plain && !literal) {
      // Inside the quotes, when nothing in them is escaped or folded.
      const policy::place inside{at.line, at.column + 1};
      literal = stands_at(inside, value);
      if (literal) at = inside;
    }
    if (plain && (value.empty() || value == "~" || value == "null")) {
      put({.what = node::type::null, .at = at});
    } else {
      put({.what = node::type::scalar, .text = value, .literal = literal, .at = at});
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, node::type::sequence);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, anchor, node::type::map);
  }
  void OnMapEnd() override { close(); }
  void OnAnchor(const YAML::Mark&, const std::string& name) override { anchor_name_ = name; }

  [[nodiscard]] std::optional<node> take_root() {
    if (!root_) return std::nullopt;
    return std::move(root_);
  }

  void add(policy::place at, std::string message, std::string hint) {
    issues_.push_back({.file = file_,
                       .at = at,
                       .path = path(),
                       .message = std::move(message),
                       .hint = std::move(hint)});
  }

  [[nodiscard]] std::string_view line(int number) const {
    const auto i = static_cast<std::size_t>(number) - 1;
    return number >= 1 && i < lines_.size() ? lines_[i] : std::string_view{};
  }

 private:
  struct frame {
    node value;
    std::optional<node> key;                     // map: read, its value is not
    std::unordered_map<std::string, int> lines;  // map: line of each key
    bool drop = false;                           // the value of `key` is a duplicate
  };

  bool stands_at(policy::place at, std::string_view value) const {
    if (at.column < 1) return false;
    const auto column = static_cast<std::size_t>(at.column) - 1;
    const auto l = line(at.line);
    return column <= l.size() && l.substr(column).starts_with(value);
  }

  void check_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor == YAML::NullAnchor) return;
    add(place_of(mark), "anchors are not accepted",
        "write the value out where it is needed; a text that begins with & stands in quotes");
  }
  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    add(place_of(mark), "tags are not accepted", "a text that begins with ! stands in quotes");
  }

  void open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            node::type what) {
    check_anchor(mark, anchor);
    check_tag(mark, tag);
    if (static_cast<int>(stack_.size()) >= deepest_document) {
      issues_.push_back({.file = file_,
                         .at = place_of(mark),
                         .message = fmt::format("nested deeper than {} levels", deepest_document)});
      throw stop_reading{};
    }
    stack_.push_back({.value = {.what = what, .at = place_of(mark)}, .key = {}, .lines = {}});
  }
  void close() {
    node done = std::move(stack_.back().value);
    stack_.pop_back();
    put(std::move(done));
  }

  void put(node n) {
    if (stack_.empty()) {
      root_ = std::move(n);
      return;
    }
    frame& f = stack_.back();
    if (f.value.what == node::type::sequence) {
      f.value.items.push_back(std::move(n));
      return;
    }
    if (!f.key) {
      f.key = accept_key(f, std::move(n));
      return;
    }
    // An empty value has no place of its own.
    if (n.what == node::type::null) n.at = f.key->at;
    if (!f.drop) f.value.entries.emplace_back(std::move(*f.key), std::move(n));
    f.key.reset();
  }

  node accept_key(frame& f, node n) {
    f.drop = n.what != node::type::scalar;
    if (f.drop) {
      if (n.what != node::type::refused) {
        add(n.at, "a key must be a plain word",
            n.what == node::type::map ? "a text with {} stands in quotes inside { }" : "");
      }
      return n;
    }
    const auto [first, fresh] = f.lines.emplace(n.text, n.at.line);
    if (!fresh) {
      f.drop = true;
      f.key = n;
      add(n.at, "duplicate key", fmt::format("it stands first on line {}", first->second));
    }
    return n;
  }

  // Of what is being read, from the open frames.
  [[nodiscard]] std::string path() const {
    std::string out;
    for (const auto& f : stack_) {
      if (f.value.what == node::type::sequence) {
        out += fmt::format("[{}]", f.value.items.size());
      } else if (f.key) {
        out += (out.empty() ? "" : ".") + f.key->text;
      }
    }
    return out;
  }

  const std::string& file_;
  std::vector<issue>& issues_;
  std::vector<std::string_view> lines_;
  std::vector<frame> stack_;
  std::optional<node> root_;
  std::string anchor_name_;
  int documents_ = 0;
};

// Offset of the first octet that is not UTF-8 (RFC 3629) or is NUL; npos when there is none.
std::size_t first_bad_octet(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    std::size_t length = 1;
    std::uint32_t least = 1;
    std::uint32_t code = c;
    if (c >= 0xF0 && c <= 0xF4) {
      length = 4, least = 0x10000, code = c & 0x07U;
    } else if (c >= 0xE0 && c < 0xF0) {
      length = 3, least = 0x800, code = c & 0x0FU;
    } else if (c >= 0xC2 && c < 0xE0) {
      length = 2, least = 0x80, code = c & 0x1FU;
    } else if (c >= 0x80) {
      return i;
    }
    if (i + length > text.size()) return i;
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xC0U) != 0x80U) return i;
      code = (code << 6U) | (next & 0x3FU);
    }
    if (code < least || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return i;
    i += length;
  }
  return std::string_view::npos;
}

policy::place place_at(std::string_view text, std::size_t offset) {
  policy::place at{1, 1};
  for (const char c : text.substr(0, offset)) {
    at.column = c == '\n' ? 1 : at.column + 1;
    at.line += c == '\n' ? 1 : 0;
  }
  return at;
}

// The library reads all of a run of opening brackets before its first event, with memory for each.
// Far more open brackets than the depth allows are refused before it starts.
std::size_t first_deep_bracket(std::string_view text) {
  constexpr int most_open = 512;
  int open = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '{') ++open;
    if ((text[i] == ']' || text[i] == '}') && open > 0) --open;
    if (open > most_open) return i;
  }
  return std::string_view::npos;
}

// What usually causes a syntax error, from the line that it stands on and the one above.
std::string syntax_hint(const tree_builder& builder, policy::place at) {
  for (const int number : {at.line, at.line - 1}) {
    const auto line = builder.line(number);
    const auto first = line.find_first_not_of(' ');
    if (first == std::string_view::npos) continue;
    if (line[first] == '\t') return "indent with spaces, not with tabs";
    for (const std::string_view sign : {"@", "`", "%", "[", "{", "*", "&", "!", "|", ">", "\""}) {
      auto colon = line.find(": " + std::string(sign));
      if (colon == std::string_view::npos) continue;
      if (sign == "[" && line.find("[::") == std::string_view::npos) continue;
      if (sign == "{" || sign == "\"") continue;
      return fmt::format("a text that begins with {} stands in quotes", sign);
    }
    if (line.find("/{") != std::string_view::npos) {
      return "inside { } a path with {placeholders} stands in quotes: \"/users/{id}\"";
    }
    if (std::count(line.begin(), line.end(), '"') % 2 == 1) return "a quote is not closed";
    if (std::count(line.begin(), line.end(), '{') != std::count(line.begin(), line.end(), '}')) {
      return "a brace is not closed";
    }
    if (std::count(line.begin(), line.end(), '[') != std::count(line.begin(), line.end(), ']')) {
      return "a bracket is not closed";
    }
  }
  return "check indentation and quotes around here";
}

}  // namespace

std::optional<node> parse_document(const std::string& file, std::string_view text,
                                   std::vector<issue>& issues) {
  const auto refuse = [&](policy::place at, std::string message, std::string hint) {
    issues.push_back(
        {.file = file, .at = at, .message = std::move(message), .hint = std::move(hint)});
    return std::nullopt;
  };
  if (text.size() > largest_document)
    return refuse({}, "larger than 4 MiB", "plans and known keys belong in files of their own");
  if (const auto bad = first_bad_octet(text); bad != std::string_view::npos) {
    return refuse(place_at(text, bad), "not UTF-8 text", "save the file as UTF-8");
  }
  if (const auto deep = first_deep_bracket(text); deep != std::string_view::npos) {
    return refuse(place_at(text, deep),
                  fmt::format("nested deeper than {} levels", deepest_document), {});
  }
  tree_builder builder(file, text, issues);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
  } catch (const stop_reading&) {
    return std::nullopt;
  } catch (const YAML::Exception& e) {
    const auto at = place_of(e.mark);
    return refuse(at, fmt::format("not readable as YAML: {}", e.msg), syntax_hint(builder, at));
  }
  auto root = builder.take_root();
  if (!root) root = node{};
  return root;
}

}  // namespace penstock::config
