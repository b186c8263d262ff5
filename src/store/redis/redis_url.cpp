#include "store/redis/redis_url.hpp"

#include <charconv>
#include <optional>

namespace penstock::store::redis {
namespace {

constexpr std::uint16_t redis_port = 6379;
constexpr std::uint16_t sentinel_port = 26379;
constexpr int database_max = 16'383;

penstock::error wrong(std::string what) {
  return {errc::invalid_config, "store URL: " + std::move(what)};
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

std::optional<std::string> decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const auto high = hex_digit(text[i + 1]);
    const auto low = hex_digit(text[i + 2]);
    if (!high || !low) return std::nullopt;
    out.push_back(static_cast<char>(*high * 16 + *low));
    i += 2;
  }
  return out;
}

template <class Number>
bool parse_number(std::string_view text, Number& out) {
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), out);
  return problem == std::errc{} && end == text.data() + text.size() && !text.empty();
}

// Splits at the first `at`: what stands before it is returned, what follows it stays. All of it and
// an empty rest when there is none.
std::string_view cut(std::string_view& text, char at) {
  const std::size_t found = text.find(at);
  const std::string_view head = text.substr(0, found);
  text = found == std::string_view::npos ? std::string_view{} : text.substr(found + 1);
  return head;
}

struct scheme_row {
  std::string_view name;
  topology kind;
  bool tls;
  bool unix_socket;
};

constexpr scheme_row schemes[] = {
    {"redis", topology::standalone, false, false},
    {"rediss", topology::standalone, true, false},
    {"unix", topology::standalone, false, true},
    {"redis+sentinel", topology::sentinel, false, false},
    {"rediss+sentinel", topology::sentinel, true, false},
    {"redis+cluster", topology::cluster, false, false},
    {"rediss+cluster", topology::cluster, true, false},
};

// Each step reads its part of the URL and returns what is wrong with it; empty when nothing is.
class url_reader {
 public:
  std::optional<std::string> read(std::string_view text) {
    const std::size_t colon = text.find("://");
    const scheme_row* scheme = nullptr;
    for (const scheme_row& row : schemes) {
      if (colon != std::string_view::npos && row.name == text.substr(0, colon)) scheme = &row;
    }
    if (scheme == nullptr) {
      return "it must begin with redis://, rediss://, unix://, redis+sentinel:// or "
             "redis+cluster://";
    }
    url.kind = scheme->kind;
    url.tls.enabled = scheme->tls;
    std::string_view rest = text.substr(colon + 3);
    std::string_view before_query = cut(rest, '?');
    if (auto problem = read_login(before_query)) return problem;
    if (auto problem =
            scheme->unix_socket ? read_socket(before_query) : read_hosts_and_path(before_query)) {
      return problem;
    }
    while (!rest.empty()) {
      if (auto problem = read_option(cut(rest, '&'))) return problem;
    }
    if (url.kind == topology::cluster && url.database != 0) return "a cluster has database 0 only";
    if (!url.tls.key_file.empty() && url.tls.cert_file.empty()) return "key needs cert";
    return std::nullopt;
  }

  redis_url url;

 private:
  std::optional<std::string> read_login(std::string_view& text) {
    const std::size_t at = text.rfind('@');
    if (at == std::string_view::npos) return std::nullopt;
    std::string_view login = text.substr(0, at);
    text = text.substr(at + 1);
    const bool has_password = login.find(':') != std::string_view::npos;
    const auto user = decode(cut(login, ':'));
    const auto password = decode(login);
    if (!user || !password) return "user or password: % must be followed by two hex digits";
    url.login = {*user, *password};
    if (has_password && password->empty()) return "the password is empty";
    if (!has_password) return "a user without password; write user:password@ or :password@";
    return std::nullopt;
  }

  std::optional<std::string> read_socket(std::string_view text) {
    const auto path = decode(text);
    if (!path || !path->starts_with('/')) return "unix:// needs an absolute path";
    if (path->size() > 107) return "the path of a unix socket has at most 107 octets";
    url.unix_path = *path;
    return std::nullopt;
  }

  std::optional<std::string> read_hosts_and_path(std::string_view text) {
    std::string_view hosts = cut(text, '/');
    do {
      if (auto problem = read_host(cut(hosts, ','))) return problem;
    } while (!hosts.empty());
    if (url.kind == topology::standalone && url.hosts.size() > 1) {
      return "several hosts need redis+sentinel:// or redis+cluster://";
    }
    if (url.kind == topology::sentinel) {
      const auto name = decode(cut(text, '/'));
      if (!name || name->empty()) return "redis+sentinel:// needs /master-name behind the hosts";
      url.master_name = *name;
    }
    return text.empty() ? std::nullopt : read_database(text);
  }

  std::optional<std::string> read_host(std::string_view text) {
    host_port at{.host = {}, .port = url.kind == topology::sentinel ? sentinel_port : redis_port};
    std::string_view port;
    bool has_port = false;
    if (text.starts_with('[')) {
      const std::size_t end = text.find(']');
      if (end == std::string_view::npos) return "an IPv6 address needs its closing ]";
      at.host = text.substr(1, end - 1);
      std::string_view behind = text.substr(end + 1);
      has_port = behind.starts_with(':');
      if (!behind.empty() && !has_port) return "an address in [ ] may only be followed by :port";
      port = has_port ? behind.substr(1) : std::string_view{};
    } else {
      has_port = text.find(':') != std::string_view::npos;
      const auto host = decode(cut(text, ':'));
      if (!host) return "host: % must be followed by two hex digits";
      at.host = *host;
      port = text;
      if (port.find(':') != std::string_view::npos) return "an IPv6 address must stand in [ ]";
    }
    if (at.host.empty()) return "a host is missing";
    if (has_port && (!parse_number(port, at.port) || at.port == 0)) {
      return "a port must be 1 to 65535";
    }
    url.hosts.push_back(std::move(at));
    return std::nullopt;
  }

  std::optional<std::string> read_database(std::string_view text) {
    if (!parse_number(text, url.database) || url.database < 0 || url.database > database_max) {
      return "the database must be a number from 0 to " + std::to_string(database_max);
    }
    return std::nullopt;
  }

  std::optional<std::string> read_option(std::string_view text) {
    const std::string name(cut(text, '='));
    const auto value = decode(text);
    if (!value) return "an option: % must be followed by two hex digits";
    struct text_option {
      std::string_view name;
      std::string* to;
      bool tls_only;
    };
    const text_option texts[] = {
        {"ca", &url.tls.ca_file, true},
        {"cert", &url.tls.cert_file, true},
        {"key", &url.tls.key_file, true},
        {"server_name", &url.tls.server_name, true},
        {"sentinel_user", &url.sentinel_login.user, false},
        {"sentinel_password", &url.sentinel_login.password, false},
    };
    for (const text_option& o : texts) {
      if (o.name != name) continue;
      if (value->empty()) return name + " is empty";
      if (o.tls_only && !url.tls.enabled) return name + " needs rediss://";
      if (!o.tls_only && url.kind != topology::sentinel) return name + " needs redis+sentinel://";
      *o.to = *value;
      return std::nullopt;
    }
    if (name == "db") return read_database(*value);
    if (name == "verify") return read_verify(*value);
    // The name could be a part of a password with an unescaped '?': it is not repeated.
    return "an option is not known; known are db, ca, cert, key, verify, server_name, "
           "sentinel_user and sentinel_password";
  }

  std::optional<std::string> read_verify(std::string_view value) {
    if (!url.tls.enabled) return "verify needs rediss://";
    if (value == "full") {
      url.tls.verify = tls_verify::full;
    } else if (value == "ca") {
      url.tls.verify = tls_verify::ca;
    } else if (value == "none") {
      url.tls.verify = tls_verify::none;
    } else {
      return "verify must be full, ca or none";
    }
    return std::nullopt;
  }
};

}  // namespace

result<redis_url> parse_redis_url(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == '\x7f') {
      return wrong("spaces and control characters must be written %XX");
    }
  }
  url_reader reader;
  if (auto problem = reader.read(text)) return wrong(std::move(*problem));
  return std::move(reader.url);
}

std::string describe(const host_port& at) {
  const bool v6 = at.host.find(':') != std::string::npos;
  std::string out = v6 ? "[" : "";
  out.append(at.host).append(v6 ? "]:" : ":").append(std::to_string(at.port));
  return out;
}

std::string describe(const redis_url& url) {
  if (!url.unix_path.empty()) return std::string("unix://").append(url.unix_path);
  std::string out;
  for (const scheme_row& row : schemes) {
    if (row.kind == url.kind && row.tls == url.tls.enabled && !row.unix_socket) out = row.name;
  }
  out += "://";
  for (std::size_t i = 0; i < url.hosts.size(); ++i) {
    out.append(i > 0 ? "," : "").append(describe(url.hosts[i]));
  }
  if (!url.master_name.empty()) out.append("/").append(url.master_name);
  if (url.database != 0) out.append("/").append(std::to_string(url.database));
  return out;
}

}  // namespace penstock::store::redis
