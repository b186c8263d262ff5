#include "config/issue.hpp"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

namespace penstock::config {
namespace {

constexpr std::size_t longest_shown = 160;

std::string_view source_line(std::string_view source, int line) {
  if (source.starts_with("\xEF\xBB\xBF")) source.remove_prefix(3);
  for (int i = 1; i < line; ++i) {
    const auto end = source.find('\n');
    if (end == std::string_view::npos) return {};
    source.remove_prefix(end + 1);
  }
  source = source.substr(0, source.find('\n'));
  if (source.ends_with('\r')) source.remove_suffix(1);
  return source;
}

// Masks the user information of every URL. Where a password ends is not certain in a line that may
// be broken, so everything from the first "://" to the last '@' goes.
void mask_urls(std::string& line) {
  const auto at = line.find("://");
  const auto sign = line.rfind('@');
  if (at == std::string::npos || sign == std::string::npos || sign < at + 3) return;
  std::fill(line.begin() + static_cast<std::ptrdiff_t>(at + 3),
            line.begin() + static_cast<std::ptrdiff_t>(sign), '*');
}

// Masks what stands behind a key whose value is or may be a secret, to the end of the line.
void mask_secrets(std::string& line) {
  for (const std::string_view key : {"token:", "value:", "password:", "secret:"}) {
    const auto at = line.find(key);
    if (at == std::string::npos) continue;
    const auto from = line.find_first_not_of(" \t\"'", at + key.size());
    if (from == std::string::npos) continue;
    std::fill(line.begin() + static_cast<std::ptrdiff_t>(from), line.end(), '*');
  }
}

// Spaces up to the caret; tabs stay tabs and the later bytes of a character take no room, so that
// the caret stands under its character on a terminal.
std::string caret_padding(std::string_view before) {
  std::string out;
  for (const char c : before) {
    if ((static_cast<unsigned char>(c) & 0xC0U) == 0x80U) continue;
    out += c == '\t' ? '\t' : ' ';
  }
  return out;
}

void replace_control_characters(std::string& line) {
  for (char& c : line) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7f) c = '?';
  }
}

std::string shown_line(std::string_view number, std::string_view text, const issue& i) {
  std::string line(text);
  replace_control_characters(line);
  mask_urls(line);
  mask_secrets(line);
  const auto column = std::min(static_cast<std::size_t>(std::max(i.at.column, 1)) - 1, line.size());
  if (i.secret) std::fill(line.begin() + static_cast<std::ptrdiff_t>(column), line.end(), '*');
  // A line longer than a screen is shown around the caret.
  const auto from = column < longest_shown ? 0 : column - longest_shown / 2;
  const auto whole = std::string_view(line);
  return fmt::format("  {} | {}\n  {:{}} | {}^\n", number, whole.substr(from, longest_shown), "",
                     number.size(), caret_padding(whole.substr(from, column - from)));
}

}  // namespace

bool has_errors(const std::vector<issue>& issues) noexcept {
  return std::any_of(issues.begin(), issues.end(),
                     [](const issue& i) { return i.level == severity::error; });
}

void sort_by_place(std::vector<issue>& issues) {
  std::stable_sort(issues.begin(), issues.end(), [](const issue& a, const issue& b) {
    return std::tie(a.at.line, a.at.column) < std::tie(b.at.line, b.at.column);
  });
}

std::string format(const issue& i, std::string_view source) {
  std::string out = i.file;
  if (i.at.line > 0) out += fmt::format(":{}:{}", i.at.line, i.at.column);
  out += out.empty() ? "" : ": ";
  if (i.level == severity::warning) out += "warning: ";
  if (!i.path.empty()) out += i.path + ": ";
  out += i.message + '\n';
  if (!i.excerpt.empty()) {
    out += shown_line("", i.excerpt, i);
  } else if (i.at.line > 0 && !source.empty()) {
    out += shown_line(std::to_string(i.at.line), source_line(source, i.at.line), i);
  }
  if (!i.hint.empty()) out += "  hint: " + i.hint + '\n';
  return out;
}

std::string format(const std::vector<issue>& issues, std::string_view source) {
  std::string out;
  for (const auto& i : issues) out += format(i, source);
  return out;
}

}  // namespace penstock::config
