#include "config/grammar/path_pattern.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "policy/path_index.hpp"

namespace penstock::config {
namespace {

problem fault(std::string_view segment, std::string message, std::string hint) {
  return {fmt::format("{} {}", quoted(segment), message), std::move(hint), 0};
}

parsed<bool> check_segment(std::string_view s) {
  if (s == "*" || s == "**") return true;
  if (s.starts_with('{')) {
    const auto name = s.substr(1, s.find('}') == std::string_view::npos ? 0 : s.find('}') - 1);
    if (s.ends_with('}') && !name.empty() && name.size() == s.size() - 2 &&
        name.find_first_of("{*") == std::string_view::npos) {
      return true;
    }
    return fault(s, "is not a placeholder", "a placeholder is one whole segment: {id}");
  }
  if (s.find_first_of("{}") != std::string_view::npos) {
    return fault(s, "mixes text and a placeholder", "a placeholder is one whole segment: {id}");
  }
  if (s.find('*') != std::string_view::npos) {
    return fault(s, "mixes text and a star", "* and ** are whole segments: /files/*, /api/**");
  }
  if (s.empty())
    return fault(s, "is an empty segment", "paths are matched without doubled slashes");
  if (s == "." || s == "..")
    return fault(s, "never matches", "paths are matched after . and .. are resolved");
  for (std::size_t i = 0; i < s.size(); ++i) {
    const auto c = static_cast<unsigned char>(s[i]);
    if (c == '?' || c == '#')
      return fault(s, "holds a query or fragment", "a pattern matches the path alone");
    if (c == ';') return fault(s, "never matches", "paths are matched without ;parameters");
    if (c == '\\') return fault(s, "never matches", "a backslash in a path is refused");
    if (c <= 0x20 || c == 0x7f)
      return fault(s, "holds a space or control character", "write it as %20");
  }
  return true;
}

}  // namespace

parsed<std::string> parse_path_pattern(std::string_view text) {
  if (!text.starts_with('/')) {
    return problem{fmt::format("{} does not begin with '/'", quoted(text)),
                   fmt::format("did you mean \"/{}\"?", text), 0};
  }
  if (text.size() > 1024) return problem{"the pattern is too long", "at most 1024 bytes", 0};
  for (std::size_t from = 1; from < text.size();) {
    const auto end = std::min(text.find('/', from), text.size());
    const auto ok = check_segment(text.substr(from, end - from));
    if (!ok) return ok.moved(from);
    from = end + 1;
  }
  // What is left to judge: percent encodings and the number of segments.
  if (const auto pattern = policy::path_pattern::parse(text, false); !pattern) {
    return problem{pattern.error().message, {}, 0};
  }
  return std::string(text);
}

}  // namespace penstock::config
