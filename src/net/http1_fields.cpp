#include "net/http1_fields.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "base/ascii.hpp"
#include "net/http1.hpp"
#include "net/http1_octets.hpp"

namespace penstock::net::http1 {

const char* parse_field_line(std::string_view line, space_before_colon space, field& out) noexcept {
  const std::size_t name_size = span_of(line, octet::token);
  if (name_size == 0) {
    if (line.front() == ' ' || line.front() == '\t') return "a folded field line";
    return "a field name that is empty or no token";
  }
  std::size_t colon = name_size;
  if (space == space_before_colon::removed) {
    while (colon < line.size() && (line[colon] == ' ' || line[colon] == '\t')) ++colon;
  }
  if (colon == line.size()) return "a field line without a colon";
  if (line[colon] != ':') {
    const bool blank = line[colon] == ' ' || line[colon] == '\t';
    return blank ? "white space between field name and colon" : "a field name that is no token";
  }
  out = {.name = line.substr(0, name_size), .value = ascii::trim(line.substr(colon + 1))};
  return nullptr;
}

field_kind kind_of(std::string_view name) noexcept {
  const auto if_named = [name](std::string_view known, field_kind kind) {
    return ascii::iequals(name, known) ? kind : field_kind::other;
  };
  switch (name.size()) {
    case 4:
      return if_named("host", field_kind::host);
    case 6:
      return if_named("expect", field_kind::expect);
    case 7:
      return if_named("upgrade", field_kind::upgrade);
    case 10:
      return if_named("connection", field_kind::connection);
    case 14:
      return if_named("content-length", field_kind::content_length);
    case 17:
      return if_named("transfer-encoding", field_kind::transfer_encoding);
    default:
      return field_kind::other;
  }
}

namespace {

const char* add_content_length(message_facts& facts, std::string_view value) noexcept {
  if (facts.has_content_length) return "more than one Content-Length";
  if (value.empty() || span_of(value, octet::digit) != value.size()) {
    return "a Content-Length that is not one decimal number";
  }
  // One bit less than the type holds, so that sums and signed copies cannot overflow.
  constexpr auto max = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t n = 0;
  for (const char c : value) {
    const auto d = static_cast<std::uint64_t>(c - '0');
    if (n > (max - d) / 10U) return "a Content-Length beyond 2^63 - 1";
    n = n * 10U + d;
  }
  facts.content_length = n;
  facts.has_content_length = true;
  return nullptr;
}

const char* add_connection(message_facts& facts, std::string_view value) noexcept {
  std::string_view member;
  while (next_member(value, member)) {
    if (member.empty()) continue;
    if (!is_token(member)) return "a Connection option that is no token";
    if (ascii::iequals(member, "close")) {
      facts.close = true;
    } else if (ascii::iequals(member, "keep-alive")) {
      facts.keep_alive = true;
    } else {
      switch (kind_of(member)) {
        case field_kind::upgrade:
          facts.upgrade_option = true;
          break;
        case field_kind::host:
        case field_kind::content_length:
        case field_kind::transfer_encoding:
          return "a Connection option that names a framing or routing field";
        default:
          break;
      }
    }
  }
  return nullptr;
}

}  // namespace

const char* message_facts::add(field_kind kind, std::string_view value) noexcept {
  switch (kind) {
    case field_kind::content_length:
      return add_content_length(*this, value);
    case field_kind::connection:
      return add_connection(*this, value);
    case field_kind::transfer_encoding:
      if (chunked) return "more than one Transfer-Encoding";
      if (!ascii::iequals(value, "chunked")) return "a Transfer-Encoding other than chunked";
      chunked = true;
      return nullptr;
    case field_kind::upgrade:
      upgrade_field = upgrade_field || !value.empty();
      return nullptr;
    default:
      return nullptr;
  }
}

const char* message_facts::check(int version_minor) const noexcept {
  if (chunked && has_content_length) return "both Content-Length and Transfer-Encoding";
  if (chunked && version_minor == 0) return "a Transfer-Encoding in HTTP/1.0";
  return nullptr;
}

bool hop_by_hop(std::string_view name) noexcept {
  // HTTP2-Settings belongs to the h2c upgrade, which is not offered; Trailer announces what the
  // body reader drops.
  static constexpr std::array<std::string_view, 8> names = {
      "connection", "keep-alive", "proxy-connection",  "te",
      "trailer",    "upgrade",    "transfer-encoding", "http2-settings"};
  return std::ranges::any_of(names, [name](std::string_view n) { return ascii::iequals(n, name); });
}

bool named_in_connection(field_list fields, std::string_view name) noexcept {
  for (const field& f : fields) {
    if (kind_of(f.name) != field_kind::connection) continue;
    std::string_view rest = f.value;
    std::string_view member;
    while (next_member(rest, member)) {
      if (!member.empty() && ascii::iequals(member, name)) return true;
    }
  }
  return false;
}

bool has_underscore(std::string_view name) noexcept {
  return name.find('_') != std::string_view::npos;
}

}  // namespace penstock::net::http1
