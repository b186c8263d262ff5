#include "policy/canonical_path.hpp"

#include <algorithm>

#include "base/ascii.hpp"

namespace penstock::policy {

namespace {

constexpr std::string_view sub_delims_and_more = "!$&'()*+,=:@";  // pchar but for ';'

constexpr bool stands_as_is(char c) noexcept {
  return ascii::is_unreserved(c) || sub_delims_and_more.find(c) != std::string_view::npos;
}

void append_escape(std::string& out, unsigned char byte) {
  constexpr char digits[] = "0123456789ABCDEF";
  const char text[3] = {'%', digits[byte >> 4], digits[byte & 15]};
  out.append(text, sizeof text);
}

// Recognises UTF-8 sequences that are longer than needed: some decoders read "%C0%AE" as ".".
class overlong_guard {
 public:
  // False: the byte completes an overlong form.
  bool accept(unsigned char byte) noexcept {
    const unsigned char before = before_;
    before_ = byte;
    if (byte < 0x80 || byte > 0xBF) return true;
    return !(before == 0xC0 || before == 0xC1 || (before == 0xE0 && byte < 0xA0) ||
             (before == 0xF0 && byte < 0x90));
  }

 private:
  unsigned char before_ = 0;
};

struct piece {
  const char* refused = nullptr;
  bool encoded_slash = false;
};

// Appends one segment (no '/' in it) without its parameters.
piece append_segment(std::string_view segment, const paths_spec& options, std::string& out) {
  piece p;
  overlong_guard utf8;
  bool parameters = false;  // dropped, but checked like the rest
  for (std::size_t i = 0; i < segment.size(); ++i) {
    const char c = segment[i];
    unsigned char byte = static_cast<unsigned char>(c);
    const bool escaped = c == '%';
    if (escaped) {
      const int high = i + 1 < segment.size() ? ascii::hex_value(segment[i + 1]) : -1;
      const int low = i + 2 < segment.size() ? ascii::hex_value(segment[i + 2]) : -1;
      if (high < 0 || low < 0) return {.refused = "the path has a broken percent escape"};
      byte = static_cast<unsigned char>(high * 16 + low);
      i += 2;
      if (byte == '/' && !options.keep_encoded_slash) {
        return {.refused = "the path has an encoded slash"};
      }
    }
    if (byte < 0x20 || byte == 0x7F) return {.refused = "the path has a control character"};
    if (byte == '\\') return {.refused = "the path has a backslash"};
    if (!utf8.accept(byte)) return {.refused = "the path has an overlong UTF-8 sequence"};
    if (!escaped && (c == '?' || c == '#' || c == ' ')) {
      return {.refused = "the path has a character that may not stand in a path"};
    }
    if (!escaped && c == ';') parameters = true;
    if (parameters) continue;
    if (byte == '/') p.encoded_slash = true;
    const char plain = static_cast<char>(byte);
    if (escaped ? ascii::is_unreserved(plain) : stands_as_is(plain)) {
      out.push_back(plain);
    } else {
      append_escape(out, byte);
    }
  }
  return p;
}

// An upstream that decodes "%2F" would walk up: "a%2F..%2Fb".
bool hides_dot_segment(std::string_view segment) noexcept {
  while (true) {
    const std::size_t at = segment.find("%2F");
    const std::string_view part = segment.substr(0, at);
    if (part == "." || part == "..") return true;
    if (at == std::string_view::npos) return false;
    segment.remove_prefix(at + 3);
  }
}

// Most paths are canonical already: whole segments of plain characters.
bool is_plain(std::string_view path) noexcept {
  char before = 0;
  for (const char c : path) {
    if (c == '/' ? before == '/' : !stands_as_is(c)) return false;
    if (c == '.' && before == '/') return false;  // perhaps a dot segment; the long way decides
    before = c;
  }
  return true;
}

}  // namespace

const char* canonicalise(std::string_view path, const paths_spec& options, std::string& out) {
  out.clear();
  if (path.empty()) path = "/";
  if (path == "*") {  // OPTIONS * asks the server, not a resource
    out = path;
    return nullptr;
  }
  if (path.front() != '/') return "the path does not start with a slash";
  if (is_plain(path)) {
    out = path;
    return nullptr;
  }
  bool final_slash = false;
  while (!path.empty()) {
    path.remove_prefix(1);  // '/'
    const std::string_view raw = path.substr(0, path.find('/'));
    path.remove_prefix(raw.size());
    const std::size_t start = out.size();
    out.push_back('/');
    const piece p = append_segment(raw, options, out);
    if (p.refused != nullptr) return p.refused;
    const std::string_view segment = std::string_view(out).substr(start + 1);
    if (p.encoded_slash && hides_dot_segment(segment)) {
      return "the path hides a dot segment behind an encoded slash";
    }
    final_slash = segment.empty() || segment == "." || segment == "..";
    if (!final_slash) continue;
    const bool up = segment == "..";
    out.resize(start);
    if (!up) continue;
    if (out.empty()) return "the path leads above the root";
    out.resize(out.rfind('/'));
  }
  if (final_slash || out.empty()) out.push_back('/');
  return nullptr;
}

std::string_view match_form(std::string_view canonical, const paths_spec& options,
                            std::string& out) {
  if (canonical.size() > 1 && canonical.back() == '/') canonical.remove_suffix(1);
  if (!options.fold_case && canonical.find('%') == std::string_view::npos) return canonical;
  out.clear();
  for (std::size_t i = 0; i < canonical.size(); ++i) {
    char c = canonical[i];
    if (c == '%') {  // escapes are whole and upper case in a canonical path
      const char decoded = static_cast<char>(ascii::hex_value(canonical[i + 1]) * 16 +
                                             ascii::hex_value(canonical[i + 2]));
      if (sub_delims_and_more.find(decoded) == std::string_view::npos) {
        out.append(canonical.substr(i, 3));
      } else {
        out.push_back(decoded);
      }
      i += 2;
      continue;
    }
    out.push_back(options.fold_case ? ascii::lower(c) : c);
  }
  return out;
}

}  // namespace penstock::policy
