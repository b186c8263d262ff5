#include "config/grammar/token.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/ascii.hpp"

namespace penstock::config {
namespace {

using ascii::is_alnum;
using ascii::lower;

char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

template <class Allowed>
std::size_t first_bad(std::string_view text, Allowed allowed) {
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), allowed) -
                                  text.begin());
}

}  // namespace

bool is_token(std::string_view text) noexcept {
  return !text.empty() && text.size() <= 256 && first_bad(text, ascii::is_token) == text.size();
}

parsed<std::string> parse_header_name(std::string_view text) {
  if (is_token(text)) return std::string(text);
  return problem{fmt::format("{} is not a header name", quoted(text)),
                 text.ends_with(':') ? "without the colon"
                                     : "letters, digits and hyphens, for example X-API-Key",
                 first_bad(text, ascii::is_token)};
}

parsed<std::string> parse_method(std::string_view text) {
  static constexpr std::array<std::string_view, 9> known{
      "GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"};
  if (!is_token(text))
    return problem{fmt::format("{} is not a method", quoted(text)), "for example POST", 0};
  std::string shouted(text);
  std::transform(shouted.begin(), shouted.end(), shouted.begin(), upper);
  if (shouted != text && std::find(known.begin(), known.end(), shouted) != known.end()) {
    return problem{fmt::format("{} never matches: methods are case-sensitive", quoted(text)),
                   fmt::format("did you mean \"{}\"?", shouted), 0};
  }
  return std::string(text);
}

parsed<std::string> parse_name(std::string_view text) {
  constexpr std::string_view rule = "1 to 64 of A-Z a-z 0-9 . _ -";
  const auto allowed = [](char c) { return is_alnum(c) || c == '.' || c == '_' || c == '-'; };
  const auto bad = first_bad(text, allowed);
  if (text.empty() || text.size() > 64 || bad < text.size()) {
    return problem{fmt::format("{} is not a name", quoted(text)), std::string(rule),
                   bad < text.size() ? bad : 0};
  }
  return std::string(text);
}

parsed<std::string> parse_sha256(std::string_view text) {
  const auto hex = [](char c) { return ascii::hex_value(c) >= 0; };
  if (text.size() != 64 || first_bad(text, hex) != text.size()) {
    return problem{"not a SHA-256: 64 hex digits are needed", "printf %s \"$SECRET\" | sha256sum",
                   0, true};
  }
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

parsed<std::string> parse_host_pattern(std::string_view text) {
  const auto name = text.starts_with("*.") ? text.substr(2) : text;
  const std::size_t skipped = text.size() - name.size();
  const auto allowed = [](char c) { return is_alnum(c) || c == '-' || c == '.' || c == '_'; };
  const bool literal_v6 = name.starts_with('[') && name.ends_with(']');
  const auto bad = first_bad(name, allowed);
  if (!literal_v6 && (name.empty() || name.size() > 253 || bad < name.size() ||
                      name.starts_with('.') || name.find("..") != std::string_view::npos)) {
    const bool port = bad < name.size() && name[bad] == ':';
    return problem{fmt::format("{} is not a host", quoted(text)),
                   port ? "without the port" : "for example api.example.com or \"*.example.com\"",
                   bad < name.size() ? skipped + bad : 0};
  }
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), lower);
  return out;
}

}  // namespace penstock::config
