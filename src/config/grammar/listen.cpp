#include "config/grammar/listen.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "config/grammar/number.hpp"
#include "policy/address.hpp"

namespace penstock::config {
namespace {

constexpr std::string_view example = "HOST:PORT, :PORT or unix:PATH, for example 127.0.0.1:8080";

// An IPv4 address or a name; four numbers that are no address are no name either.
bool is_host(std::string_view host) {
  if (policy::address::parse(host)) return host.find(':') == std::string_view::npos;
  if (host.empty() || host.size() > 253) return false;
  const bool letters = std::all_of(host.begin(), host.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
  });
  return letters && host.find_first_not_of("0123456789.") != std::string_view::npos;
}

}  // namespace

parsed<host_port> parse_host_port(std::string_view text, std::uint16_t default_port,
                                  empty_host empty) {
  std::string_view host = text;
  std::string_view port;
  bool with_port = false;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos) {
      return problem{fmt::format("{} has no closing bracket", quoted(text)),
                     "for example [::1]:8080", 0};
    }
    host = text.substr(1, end - 1);
    const auto rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') {
      return problem{fmt::format("{} after the bracket", quoted(rest)), "for example [::1]:8080",
                     end + 1};
    }
    with_port = !rest.empty();
    port = with_port ? rest.substr(1) : rest;
    const auto address = policy::address::parse(host);
    if (!address || host.find(':') == std::string_view::npos) {
      return problem{fmt::format("{} is not an IPv6 address", quoted(host)),
                     "for example [::1]:8080", 1};
    }
  } else {
    const auto colon = text.rfind(':');
    if (colon != std::string_view::npos) {
      if (text.find(':') != colon) {
        return problem{fmt::format("{} is ambiguous", quoted(text)),
                       "an IPv6 address stands in brackets: \"[::1]:8080\"", 0};
      }
      with_port = true;
      host = text.substr(0, colon);
      port = text.substr(colon + 1);
    }
    if (host.empty() ? empty == empty_host::refused || !with_port : !is_host(host)) {
      return problem{fmt::format("{} is not a host", quoted(host)), std::string(example), 0};
    }
  }
  if (!with_port && default_port == 0) {
    return problem{fmt::format("{} has no port", quoted(text)), std::string(example), text.size()};
  }
  const auto number = with_port ? parse_count(port) : std::int64_t{default_port};
  if (!number || *number > 65535) {
    return problem{fmt::format("{} is not a port", quoted(port)), "0 to 65535",
                   text.size() - port.size()};
  }
  return host_port{std::string(host), static_cast<std::uint16_t>(*number)};
}

parsed<std::string> parse_unix_path(std::string_view text) {
  if (text.empty() || text.size() > 107) {
    return problem{"a unix socket's path has 1 to 107 bytes", "for example unix:/run/penstock.sock",
                   0};
  }
  if (text.find('\0') != std::string_view::npos) {
    return problem{"a unix socket's path has no NUL", "for example unix:/run/penstock.sock", 0};
  }
  return std::string(text);
}

parsed<listen_address> parse_listen(std::string_view text) {
  if (text.starts_with("unix:")) {
    const auto path = parse_unix_path(text.substr(5));
    if (!path) return path.moved(5);
    return listen_address{.unix_path = *path};
  }
  if (text.find("://") != std::string_view::npos) {
    return problem{fmt::format("{} is a URL", quoted(text)), std::string(example), 0};
  }
  if (parse_count(text)) {
    return problem{fmt::format("{} is not an address", quoted(text)),
                   fmt::format("did you mean \":{}\" or \"127.0.0.1:{}\"?", text, text), 0};
  }
  const auto at = parse_host_port(text, 0, empty_host::allowed);
  if (!at) return at.error();
  return listen_address{.host = at->host, .port = at->port};
}

std::string to_text(const host_port& h) {
  const bool v6 = h.host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", h.host, h.port) : fmt::format("{}:{}", h.host, h.port);
}

std::string to_text(const listen_address& a) {
  if (!a.unix_path.empty()) return "unix:" + a.unix_path;
  return to_text(host_port{a.host, a.port});
}

bool is_local(const listen_address& a) {
  if (!a.unix_path.empty() || a.host == "localhost") return true;
  const auto address = policy::address::parse(a.host);
  if (!address) return false;
  if (address->is_v4()) return address->octets()[0] == 127;
  std::array<std::uint8_t, 16> loopback{};
  loopback[15] = 1;
  return address->octets() == loopback;
}

}  // namespace penstock::config
