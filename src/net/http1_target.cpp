#include "net/http1_target.hpp"

#include <algorithm>
#include <array>

#include <arpa/inet.h>

#include "base/ascii.hpp"
#include "net/http1.hpp"
#include "net/http1_octets.hpp"

namespace penstock::net::http1 {

namespace {

bool is_control(int octet) noexcept {
  return octet < 0x20 || octet == 0x7f;
}

// The class, or an escape of two hexadecimal digits that does not hide a control octet.
bool all_or_escaped(std::string_view s, std::uint8_t cls) noexcept {
  for (std::size_t i = span_of(s, cls); i < s.size(); i += 3 + span_of(s.substr(i + 3), cls)) {
    if (s[i] != '%' || s.size() - i < 3) return false;
    if (!is(s[i + 1], octet::hex) || !is(s[i + 2], octet::hex)) return false;
    if (is_control(ascii::hex_value(s[i + 1]) * 16 + ascii::hex_value(s[i + 2]))) return false;
  }
  return true;
}

bool is_ipv6(std::string_view s) noexcept {
  std::array<char, 46> text{};  // INET6_ADDRSTRLEN; longer is no address
  // What stands behind a NUL would not be looked at.
  if (s.size() >= text.size() || s.find('\0') != std::string_view::npos) return false;
  std::ranges::copy(s, text.begin());
  in6_addr address{};
  return inet_pton(AF_INET6, text.data(), &address) == 1;
}

bool is_port(std::string_view s) noexcept {
  if (s.size() > 5 || span_of(s, octet::digit) != s.size()) return false;
  unsigned n = 0;
  for (const char c : s) n = n * 10U + static_cast<unsigned>(c - '0');
  return n <= 65535U;
}

// What follows the scheme and "://" of an http or https URI; empty for anything else.
std::string_view after_scheme(std::string_view target) noexcept {
  for (const std::string_view scheme :
       {std::string_view("http://"), std::string_view("https://")}) {
    if (ascii::iequals(target.substr(0, scheme.size()), scheme))
      return target.substr(scheme.size());
  }
  return {};
}

const char* parse_path_and_query(std::string_view text, request_head& out) noexcept {
  const std::size_t mark = text.find('?');
  out.has_query = mark != std::string_view::npos;
  out.path = text.substr(0, mark);
  out.query = out.has_query ? text.substr(mark + 1) : std::string_view{};
  if (!all_or_escaped(out.path, octet::path)) {
    return "an octet or an escape that may not stand in a path";
  }
  if (span_of(out.query, octet::query) != out.query.size()) {
    return "an octet that may not stand in a query";
  }
  return nullptr;
}

const char* parse_absolute(std::string_view method, std::string_view target,
                           request_head& out) noexcept {
  const std::string_view rest = after_scheme(target);
  if (rest.empty()) return "a target that is neither a path nor an http or https URI";
  const std::size_t end = std::min(rest.find_first_of("/?"), rest.size());
  out.form = target_form::absolute;
  out.authority = rest.substr(0, end);
  if (!is_authority(out.authority)) return "an authority in the target that is not host and port";
  if (const char* wrong = parse_path_and_query(rest.substr(end), out)) return wrong;
  if (out.path.empty()) {
    // The first slash of "://": a "/" that lies in the buffer like every other view.
    out.path = target.substr(target.find('/'), 1);
    // RFC 9112 3.2.4: such an OPTIONS is about the whole server.
    if (method == "OPTIONS" && !out.has_query) out.form = target_form::asterisk;
  }
  return nullptr;
}

}  // namespace

bool is_authority(std::string_view text) noexcept {
  std::size_t host_size = 0;
  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos || !is_ipv6(text.substr(1, close - 1))) return false;
    host_size = close + 1;
  } else {
    host_size = std::min(text.find(':'), text.size());
    if (host_size == 0 || !all_or_escaped(text.substr(0, host_size), octet::host)) return false;
  }
  if (host_size == text.size()) return true;
  return text[host_size] == ':' && is_port(text.substr(host_size + 1));
}

const char* parse_target(std::string_view method, std::string_view target,
                         request_head& out) noexcept {
  out.authority = {};
  out.query = {};
  out.has_query = false;
  if (target.starts_with('/')) {
    out.form = target_form::origin;
    return parse_path_and_query(target, out);
  }
  if (target == "*") {
    out.form = target_form::asterisk;
    out.path = target;
    return method == "OPTIONS" ? nullptr : "a target of * in a method other than OPTIONS";
  }
  return parse_absolute(method, target, out);
}

}  // namespace penstock::net::http1
