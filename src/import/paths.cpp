#include "import/paths.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "config/grammar/path_pattern.hpp"

namespace penstock::import {
namespace {

constexpr std::size_t most_alternatives = 16;

bool segment_meets(const std::string& a, const std::string& b) {
  return a == b || a == "*" || b == "*";
}

// A segment as it stands in a pattern: everything that is not plain is an escape.
std::string encoded(std::string_view segment) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  std::string out;
  for (const char c : segment) {
    if (ascii::is_unreserved(c)) {
      out += c;
      continue;
    }
    const auto octet = static_cast<unsigned char>(c);
    out += {'%', hex[octet >> 4U], hex[octet & 15U]};
  }
  return out;
}

// "/a/b" in segments; a final slash adds none. nullopt: no pattern can be made of it.
std::optional<path_shape> shape_of(std::string_view path, bool below) {
  if (!path.starts_with('/')) return std::nullopt;
  path_shape out{{}, below};
  for (path.remove_prefix(1); !path.empty();) {
    const auto segment = ascii::take_until(path, '/');
    if (!segment.empty()) out.segments.push_back(encoded(segment));
  }
  if (!config::parse_path_pattern(out.text())) return std::nullopt;
  return out;
}

// Reads the part of regular expressions that patterns can say, all alternatives at once.
class regex_reader {
 public:
  explicit regex_reader(std::string_view text) : rest_(text) {}

  translated run() {
    translated out;
    paths_ = {{}};
    if (!take("^/")) return out;
    while (!rest_.empty() && !done_) {
      if (!element()) return {};
    }
    if (!rest_.empty()) return {};
    for (const auto& p : paths_) {
      auto shape = finish(p, out.differs);
      if (!shape) return {};
      out.shapes.push_back(*std::move(shape));
    }
    if (wider_) out.differs = "a pattern's * is any segment, the regular expression's is not";
    return out;
  }

 private:
  bool take(std::string_view what) {
    if (!rest_.starts_with(what)) return false;
    rest_.remove_prefix(what.size());
    return true;
  }

  bool append(std::string_view text) {
    for (auto& p : paths_) p += text;
    return true;
  }

  // One piece; false: not of the part that can be said. In paths_, '\0' stands for one segment.
  bool element() {
    if (take("$")) return end(false);
    if (take("/?$")) return end(false);
    if (take("(/|$)") || take("(?:/|$)") || take("($|/)") || take("(/.*)?$"))
      return whole_segments_below();
    if (rest_ == ".*" || rest_ == ".*$" || rest_ == "(.*)" || rest_ == "(.*)$") {
      rest_ = {};
      return end(true);
    }
    if (take("[^/]+") || take("([^/]+)")) return append(std::string_view("\0", 1));
    for (const std::string_view some :
         {"([0-9]+)", "[0-9]+", "(\\d+)", "\\d+", "(\\w+)", "\\w+", "[a-z0-9-]+", "[a-z0-9]+",
          "[a-zA-Z0-9-]+", "[a-zA-Z0-9_-]+"}) {
      if (!take(some)) continue;
      wider_ = true;
      return append(std::string_view("\0", 1));
    }
    if (rest_.starts_with('(')) return group();
    return literal();
  }

  bool end(bool open) {
    done_ = true;
    below_ = open;
    clean_ = !open || paths_.front().empty() || paths_.front().ends_with('/');
    return rest_.empty();
  }

  bool whole_segments_below() {
    done_ = below_ = true;
    clean_ = true;
    return rest_.empty();
  }

  bool literal() {
    char c = rest_.front();
    std::size_t size = 1;
    if (c == '\\') {
      if (rest_.size() < 2 || ascii::is_alnum(rest_[1])) return false;
      c = rest_[1];
      size = 2;
    } else if (std::string_view(".*+?[](){}|^$").find(c) != std::string_view::npos) {
      return false;
    }
    if (c == '\0') return false;
    rest_.remove_prefix(size);
    if (!rest_.empty() && std::string_view("*+?{").find(rest_.front()) != std::string_view::npos &&
        !(c == '/' && rest_ == "?$")) {
      return false;
    }
    if (c == '/' && rest_ == "?$") {
      rest_ = {};
      return end(false);
    }
    return append(std::string_view(&c, 1));
  }

  // "(a|b|c)" of plain words.
  bool group() {
    const auto close = rest_.find(')');
    if (close == std::string_view::npos) return false;
    auto inside = rest_.substr(1, close - 1);
    if (inside.starts_with("?:")) inside.remove_prefix(2);
    rest_.remove_prefix(close + 1);
    if (!rest_.empty() && std::string_view("*+?{").find(rest_.front()) != std::string_view::npos)
      return false;
    std::vector<std::string> words;
    for (bool more = true; more;) {
      more = inside.find('|') != std::string_view::npos;
      const auto raw = ascii::take_until(inside, '|');
      std::string word;
      for (std::size_t i = 0; i < raw.size(); ++i) {
        if (raw[i] == '\\' && i + 1 < raw.size() && !ascii::is_alnum(raw[i + 1]))
          ++i;
        else if (std::string_view(".*+?[](){}|^$\\").find(raw[i]) != std::string_view::npos)
          return false;
        word += raw[i];
      }
      if (word.empty() || word.find('\0') != std::string::npos) return false;
      words.push_back(std::move(word));
    }
    if (words.size() * paths_.size() > most_alternatives) return false;
    std::vector<std::string> all;
    for (const auto& p : paths_)
      for (const auto& w : words) all.push_back(p + w);
    paths_ = std::move(all);
    return true;
  }

  std::optional<path_shape> finish(const std::string& path, std::string& differs) const {
    const bool open = !done_ || below_;
    path_shape out{{}, open};
    std::string_view rest = path;
    while (!rest.empty()) {
      const auto segment = ascii::take_until(rest, '/');
      if (segment.empty()) continue;
      if (segment == std::string_view("\0", 1)) {
        out.segments.emplace_back("*");
      } else if (segment.find('\0') != std::string_view::npos) {
        return std::nullopt;
      } else {
        out.segments.push_back(encoded(segment));
      }
    }
    const bool cut = done_ ? !clean_ : !(path.empty() || path.ends_with('/'));
    if (open && cut) differs = "the regular expression also matches longer last segments";
    if (!config::parse_path_pattern(out.text())) return std::nullopt;
    return out;
  }

  std::string_view rest_;
  std::vector<std::string> paths_;
  bool done_ = false;   // the end of the expression has been read
  bool below_ = false;  // and more of the path may follow
  bool clean_ = true;   // at a slash only
  bool wider_ = false;
};

}  // namespace

std::string path_shape::text() const {
  std::string out;
  for (const auto& s : segments) out += "/" + s;
  if (below) out += "/**";
  return out.empty() ? "/" : out;
}

bool covers(const path_shape& outer, const path_shape& inner) {
  if (outer.segments.size() > inner.segments.size()) return false;
  if (!outer.below && (inner.below || outer.segments.size() != inner.segments.size())) return false;
  for (std::size_t i = 0; i < outer.segments.size(); ++i) {
    if (outer.segments[i] != "*" && outer.segments[i] != inner.segments[i]) return false;
  }
  return true;
}

bool meet(const path_shape& a, const path_shape& b) {
  const std::size_t common = std::min(a.segments.size(), b.segments.size());
  if (a.segments.size() > common && !b.below) return false;
  if (b.segments.size() > common && !a.below) return false;
  for (std::size_t i = 0; i < common; ++i) {
    if (!segment_meets(a.segments[i], b.segments[i])) return false;
  }
  return true;
}

translated translate_path(std::string_view path, bool whole) {
  translated out;
  auto shape = shape_of(path, !whole);
  if (!shape) return out;
  if (!whole && !path.ends_with('/')) {
    const auto slash = path.rfind('/');
    out.differs = "nginx's prefix also matches longer segments, as in \"" +
                  encoded(path.substr(slash + 1)) + "x\"; here a segment matches whole";
  }
  out.shapes.push_back(*std::move(shape));
  return out;
}

translated translate_regex(std::string_view regex, bool any_case) {
  auto out = regex_reader(regex).run();
  if (any_case && !out.shapes.empty()) {
    out.differs += (out.differs.empty() ? "" : "; ");
    out.differs += "~* ignores case, here it counts (paths: { case: fold } ignores it everywhere)";
  }
  return out;
}

}  // namespace penstock::import
