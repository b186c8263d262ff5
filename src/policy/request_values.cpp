#include "policy/request_values.hpp"

#include <algorithm>
#include <array>

#include <arpa/inet.h>

#include "base/ascii.hpp"

namespace penstock::policy {

namespace {

void note(found_value& found, std::string_view value) noexcept {
  found = found.how == occurs::absent ? found_value{occurs::once, value}
                                      : found_value{occurs::repeatedly, found.value};
}

void decode(std::string_view text, std::string& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '%' && i + 2 < text.size()) {
      const int high = ascii::hex_value(text[i + 1]);
      const int low = ascii::hex_value(text[i + 2]);
      if (high >= 0 && low >= 0) {
        out.push_back(static_cast<char>(high * 16 + low));
        i += 2;
        continue;
      }
    }
    out.push_back(c == '+' ? ' ' : c);
  }
}

bool needs_decoding(std::string_view text) noexcept {
  return text.find_first_of("%+") != std::string_view::npos;
}

}  // namespace

found_value find_field(field_list fields, std::string_view name) noexcept {
  found_value found;
  for (const field& f : fields) {
    if (ascii::iequals(f.name, name)) note(found, f.value);
  }
  return found;
}

found_value find_query(std::string_view query, std::string_view name, std::string& scratch) {
  found_value found;
  while (!query.empty()) {
    std::string_view value = ascii::take_until(query, '&');
    const std::string_view key = ascii::take_until(value, '=');
    bool same = key == name;
    if (!same && needs_decoding(key)) {
      scratch.clear();
      decode(key, scratch);
      same = scratch == name;
    }
    if (same) note(found, value);
  }
  const std::string_view raw = found.value;
  if (!needs_decoding(raw)) return found;
  scratch.clear();
  decode(raw, scratch);
  found.value = scratch;
  return found;
}

found_value find_cookie(field_list fields, std::string_view name) noexcept {
  found_value found;
  for (const field& f : fields) {
    if (!ascii::iequals(f.name, "cookie")) continue;
    std::string_view rest = f.value;
    while (!rest.empty()) {
      std::string_view value = ascii::take_until(rest, ';');
      if (ascii::trim(ascii::take_until(value, '=')) != name) continue;
      value = ascii::trim(value);
      if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
        value = value.substr(1, value.size() - 2);
      }
      note(found, value);
    }
  }
  return found;
}

namespace {

// The one spelling of an IPv6 address (RFC 5952); false: it is none.
bool append_ipv6(std::string& out, std::string_view text) {
  std::array<char, INET6_ADDRSTRLEN> spelling{};
  if (text.size() >= spelling.size() || text.find('\0') != std::string_view::npos) return false;
  std::ranges::copy(text, spelling.begin());
  in6_addr octets{};
  if (::inet_pton(AF_INET6, spelling.data(), &octets) != 1) return false;
  ::inet_ntop(AF_INET6, &octets, spelling.data(), spelling.size());
  out.push_back('[');
  out.append(spelling.data());
  out.push_back(']');
  return true;
}

}  // namespace

void append_host(std::string& out, std::string_view authority) {
  if (authority.starts_with('[')) {
    authority = authority.substr(0, authority.find(']') + 1);
    if (authority.size() > 2 && append_ipv6(out, authority.substr(1, authority.size() - 2))) return;
  } else {
    authority = authority.substr(0, authority.find(':'));
    while (authority.ends_with('.')) authority.remove_suffix(1);
  }
  for (const char c : authority) out.push_back(ascii::lower(c));
}

}  // namespace penstock::policy
