#include "config/grammar/store_url.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/ascii.hpp"
#include "config/grammar/number.hpp"

namespace penstock::config {
namespace {

constexpr std::uint16_t redis_port = 6379;
constexpr std::uint16_t sentinel_port = 26379;

struct scheme_row {
  std::string_view name;
  store_kind kind;
  bool tls;
  bool socket;
};
constexpr std::array schemes{
    scheme_row{"redis", store_kind::redis, false, false},
    scheme_row{"rediss", store_kind::redis, true, false},
    scheme_row{"unix", store_kind::redis, false, true},
    scheme_row{"redis+sentinel", store_kind::sentinel, false, false},
    scheme_row{"rediss+sentinel", store_kind::sentinel, true, false},
    scheme_row{"redis+cluster", store_kind::cluster, false, false},
    scheme_row{"rediss+cluster", store_kind::cluster, true, false},
    scheme_row{"valkey", store_kind::redis, false, false},
    scheme_row{"valkeys", store_kind::redis, true, false},
    scheme_row{"valkey+sentinel", store_kind::sentinel, false, false},
    scheme_row{"valkey+cluster", store_kind::cluster, false, false},
};

// What the store itself reads from the URL.
constexpr std::array<std::string_view, 7> store_options{
    "ca", "cert", "key", "verify", "server_name", "sentinel_user", "sentinel_password"};

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = ascii::hex_value(text[i + 1]);
    const int low = ascii::hex_value(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::optional<int> parse_database(std::string_view text) {
  const auto n = parse_count(text);
  if (!n || *n > 1023) return std::nullopt;
  return static_cast<int>(*n);
}

problem bad_database(std::size_t offset) {
  return {"the database is a number from 0 to 1023", "for example redis://127.0.0.1:6379/0",
          offset};
}

parsed<store_url> read_store_url(std::string_view text) {
  constexpr std::string_view example =
      "redis://HOST:PORT/DB, rediss://…, unix:///PATH, redis+sentinel://HOST,HOST/MASTER, "
      "redis+cluster://HOST,HOST";
  const auto colon = text.find("://");
  if (colon == std::string_view::npos) return problem{"not a store URL", std::string(example), 0};
  const scheme_row* scheme = nullptr;
  for (const auto& row : schemes) {
    if (row.name == text.substr(0, colon)) scheme = &row;
  }
  if (scheme == nullptr) return problem{"unknown kind of store", std::string(example), 0};

  store_url out{.kind = scheme->kind, .tls = scheme->tls};
  auto rest = text.substr(colon + 3);
  const auto offset_of = [&](std::string_view part) {
    return static_cast<std::size_t>(part.data() - text.data());
  };

  // The last '@' ahead of the path: a password may hold an unescaped '@', a host cannot.
  const auto path_from = std::min(rest.find('/'), rest.size());
  if (const auto sign = rest.substr(0, path_from).rfind('@'); sign != std::string_view::npos) {
    const auto credentials = rest.substr(0, sign);
    const auto between = credentials.find(':');
    const bool both = between != std::string_view::npos;
    const auto user = percent_decoded(both ? credentials.substr(0, between) : credentials);
    const auto password = percent_decoded(both ? credentials.substr(between + 1) : "");
    if (!user || !password) {
      return problem{"bad percent encoding in user or password", "write % as %25", offset_of(rest)};
    }
    if (!both || password->empty()) {
      return problem{"the user has no password", "USER:PASSWORD@ or :PASSWORD@", offset_of(rest)};
    }
    out.user = *user;
    out.password = *password;
    rest.remove_prefix(sign + 1);
  }

  if (const auto query = rest.find('?'); query != std::string_view::npos) {
    auto options = rest.substr(query + 1);
    rest = rest.substr(0, query);
    if (options.starts_with("db=")) {
      const auto end = std::min(options.find('&'), options.size());
      const auto database = parse_database(options.substr(3, end - 3));
      if (!database) return bad_database(offset_of(options));
      out.database = *database;
      options.remove_prefix(std::min(end + 1, options.size()));
    }
    for (auto left = options; !left.empty();) {
      const auto end = std::min(left.find('&'), left.size());
      const auto name = left.substr(0, left.substr(0, end).find('='));
      if (std::ranges::find(store_options, name) == store_options.end()) {
        return problem{"unknown option behind '?'",
                       fmt::format("one of db, {}", fmt::join(store_options, ", ")),
                       offset_of(left)};
      }
      left.remove_prefix(std::min(end + 1, left.size()));
    }
    out.options = std::string(options);
  }

  if (scheme->socket) {
    const auto path = parse_unix_path(rest);
    if (!path) return path.moved(offset_of(rest));
    out.unix_path = *path;
    return out;
  }

  auto hosts = rest.substr(0, std::min(rest.find('/'), rest.size()));
  auto path = rest.substr(hosts.size());
  if (!path.empty()) path.remove_prefix(1);
  const auto port = scheme->kind == store_kind::sentinel ? sentinel_port : redis_port;
  for (;;) {
    const auto comma = hosts.find(',');
    const auto one = hosts.substr(0, comma);
    auto at = parse_host_port(one, port, empty_host::refused);
    // Its message would repeat text that may be a part of a password.
    if (!at || at->port == 0) {
      return problem{"the store's host and port are not readable",
                     "HOST:PORT; write '/' and '@' of a password as %2F and %40", offset_of(one)};
    }
    out.hosts.push_back(*at);
    if (comma == std::string_view::npos) break;
    hosts.remove_prefix(comma + 1);
  }
  if (scheme->kind == store_kind::redis && out.hosts.size() > 1) {
    return problem{"redis:// names one host", "redis+cluster:// or redis+sentinel:// name several",
                   colon + 3};
  }
  if (scheme->kind == store_kind::sentinel) {
    const auto end = std::min(path.find('/'), path.size());
    out.master = std::string(path.substr(0, end));
    if (out.master.empty()) {
      return problem{"the master's name is missing", "redis+sentinel://HOST:26379/mymaster",
                     text.size()};
    }
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  if (!path.empty()) {
    const auto database = parse_database(path);
    if (!database) return bad_database(offset_of(path));
    if (scheme->kind == store_kind::cluster && *database != 0) {
      return problem{"a cluster has database 0 only", "leave the path out", offset_of(path)};
    }
    out.database = *database;
  }
  return out;
}

}  // namespace

parsed<store_url> parse_store_url(std::string_view text) {
  auto url = read_store_url(text);
  if (url) return url;
  auto p = url.error();
  p.secret = true;
  return p;
}

std::string redacted(const store_url& u) {
  std::string out = u.tls ? "rediss" : "redis";
  if (!u.unix_path.empty()) return fmt::format("unix://{}?db={}", u.unix_path, u.database);
  if (u.kind == store_kind::sentinel) out += "+sentinel";
  if (u.kind == store_kind::cluster) out += "+cluster";
  out += "://";
  for (std::size_t i = 0; i < u.hosts.size(); ++i) out += (i == 0 ? "" : ",") + to_text(u.hosts[i]);
  if (u.kind == store_kind::sentinel) out += "/" + u.master;
  if (u.kind != store_kind::cluster) out += fmt::format("/{}", u.database);
  return out;
}

}  // namespace penstock::config
