#include "config/grammar/upstream.hpp"

#include <fmt/format.h>

namespace penstock::config {

parsed<upstream_url> parse_upstream(std::string_view text) {
  constexpr std::string_view example =
      "http://HOST:PORT or unix:PATH, for example http://127.0.0.1:3000";
  if (text.starts_with("unix:")) {
    const std::size_t skipped = text.starts_with("unix:///") ? 7 : 5;
    const auto path = parse_unix_path(text.substr(skipped));
    if (!path) return path.moved(skipped);
    return upstream_url{.at = {}, .unix_path = *path, .tls = false};
  }
  const bool tls = text.starts_with("https://");
  const std::string_view scheme = tls ? "https://" : "http://";
  const std::uint16_t usual_port = tls ? 443 : 80;
  if (!text.starts_with(scheme)) {
    const bool bare = text.find("://") == std::string_view::npos &&
                      parse_host_port(text, 80, empty_host::refused);
    return problem{"not an upstream URL",
                   bare ? fmt::format("did you mean \"http://{}\"?", text) : std::string(example),
                   0};
  }
  auto authority = text.substr(scheme.size());
  if (const auto sign = authority.find('@'); sign != std::string_view::npos) {
    return problem{"an upstream URL has no user or password", std::string(example), scheme.size()};
  }
  if (authority.ends_with('/')) authority.remove_suffix(1);
  if (const auto end = authority.find_first_of("/?#"); end != std::string_view::npos) {
    return problem{"an upstream URL has no path",
                   "requests are forwarded with the path they came with", scheme.size() + end};
  }
  const auto at = parse_host_port(authority, usual_port, empty_host::refused);
  if (!at) return at.moved(scheme.size());
  if (at->port == 0)
    return problem{"port 0 cannot be connected to", std::string(example), scheme.size()};
  return upstream_url{.at = *at, .unix_path = {}, .tls = tls};
}

std::string to_text(const upstream_url& u) {
  return u.unix_path.empty() ? (u.tls ? "https://" : "http://") + to_text(u.at)
                             : "unix:" + u.unix_path;
}

}  // namespace penstock::config
