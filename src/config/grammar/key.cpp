#include "config/grammar/key.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "config/grammar/token.hpp"
#include "config/suggest.hpp"

namespace penstock::config {
namespace {

using policy::key_kind;
using policy::key_part;

constexpr std::size_t most_parts = 8;

struct kind_row {
  std::string_view name;
  key_kind kind;
  bool named;  // takes "(NAME)"
};
constexpr std::array kinds{
    kind_row{"global", key_kind::global, false},    kind_row{"address", key_kind::address, false},
    kind_row{"api_key", key_kind::api_key, false},  kind_row{"user", key_kind::user, false},
    kind_row{"route", key_kind::route, false},      kind_row{"method", key_kind::method, false},
    kind_row{"host", key_kind::host, false},        kind_row{"header", key_kind::header, true},
    kind_row{"query", key_kind::query, true},       kind_row{"cookie", key_kind::cookie, true},
    kind_row{"constant", key_kind::constant, true},
};
constexpr auto kind_names = [] {
  std::array<std::string_view, kinds.size()> names;
  for (std::size_t i = 0; i < kinds.size(); ++i) names[i] = kinds[i].name;
  return names;
}();

// Words of other limiters for the same thing.
constexpr std::array<std::pair<std::string_view, std::string_view>, 10> other_words{{
    {"ip", "address"},
    {"client", "address"},
    {"client_ip", "address"},
    {"remote_addr", "address"},
    {"path", "route"},
    {"endpoint", "route"},
    {"url", "route"},
    {"all", "global"},
    {"user_id", "user"},
    {"key", "api_key"},
}};

problem unknown_word(std::string_view word) {
  for (const auto& [theirs, ours] : other_words) {
    if (theirs == word) {
      return {fmt::format("unknown key {}", quoted(word)),
              fmt::format("did you mean \"{}\"?", ours), 0};
    }
  }
  return {fmt::format("unknown key {}", quoted(word)), suggest(word, kind_names), 0};
}

parsed<key_part> parse_part(std::string_view text) {
  const auto open = text.find('(');
  const auto word = text.substr(0, open);
  const auto* row =
      std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.name == word; });
  if (row == kinds.end()) return unknown_word(word);
  if (open == std::string_view::npos) {
    if (row->named) {
      return problem{fmt::format("{} needs a name", word),
                     fmt::format("for example {}(NAME)", word), 0};
    }
    key_part part;
    part.kind = row->kind;
    return part;
  }
  if (!text.ends_with(')')) {
    return problem{"the bracket is not closed", fmt::format("for example {}(NAME)", word), open};
  }
  if (!row->named) return problem{fmt::format("{} takes no name", word), {}, open};
  const auto name = text.substr(open + 1, text.size() - open - 2);
  if (row->kind == key_kind::header) {
    const auto header = parse_header_name(name);
    if (!header) return header.moved(open + 1);
  } else if (row->kind == key_kind::constant) {
    const auto constant = parse_name(name);
    if (!constant) return constant.moved(open + 1);
  } else if (!is_token(name)) {
    return problem{fmt::format("{} is not a {} name", quoted(name), word),
                   "letters, digits, '-' and '_'", open + 1};
  }
  return key_part{.kind = row->kind, .name = std::string(name)};
}

// Position of the next `sign` outside brackets, from `from` on.
std::size_t next_sign(std::string_view text, std::size_t from, char sign) {
  bool inside = false;
  for (std::size_t i = from; i < text.size(); ++i) {
    if (text[i] == '(') inside = true;
    if (text[i] == ')') inside = false;
    if (!inside && text[i] == sign) return i;
  }
  return text.size();
}

bool same(const key_part& a, const key_part& b) {
  return a.kind == b.kind && a.name == b.name;
}

parsed<std::vector<key_part>> parse_alternative(std::string_view text) {
  std::vector<key_part> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const auto end = next_sign(text, from, '+');
    auto word = text.substr(from, end - from);
    const auto first = word.find_first_not_of(" \t");
    if (first == std::string_view::npos) {
      return problem{"a key is missing here",
                     "for example address, user + route, api_key | address", from};
    }
    word = word.substr(first, word.find_last_not_of(" \t") - first + 1);
    auto part = parse_part(word);
    if (!part) return part.moved(from + first);
    for (const auto& other : parts) {
      if (same(other, *part))
        return problem{fmt::format("{} stands twice", quoted(word)), {}, from + first};
    }
    parts.push_back(*part);
    if (parts.size() > most_parts) return problem{"too many parts", "at most 8", from + first};
    if (end == text.size()) break;
    from = end + 1;
  }
  const auto global = [](const key_part& p) { return p.kind == key_kind::global; };
  if (parts.size() > 1 && std::any_of(parts.begin(), parts.end(), global)) {
    return problem{"global counts everything together and stands alone", "leave global out", 0};
  }
  return parts;
}

}  // namespace

parsed<policy::key_expression> parse_key(std::string_view text) {
  policy::key_expression out;
  out.text = std::string(text);
  for (std::size_t from = 0;;) {
    const auto end = next_sign(text, from, '|');
    auto alternative = parse_alternative(text.substr(from, end - from));
    if (!alternative) return alternative.moved(from);
    out.alternatives.push_back(*alternative);
    if (out.alternatives.size() > most_parts)
      return problem{"too many alternatives", "at most 8", from};
    if (end == text.size()) return out;
    from = end + 1;
  }
}

}  // namespace penstock::config
