// Where Redis is and how to speak to it, from one URL:
//   redis://[user[:password]@]host[:6379][/db]        rediss:// the same over TLS
//   unix://[user[:password]@]/path/of/socket[?db=N]
//   redis+sentinel://[user[:password]@]host[:26379],…/master-name[/db]     rediss+sentinel://
//   redis+cluster://[user[:password]@]host[:6379],…                        rediss+cluster://
// with, behind '?', db, ca, cert, key (files), verify (full | ca | none), server_name,
// sentinel_user and sentinel_password. Octets above may be written %XX. Messages and descriptions
// never hold a password or a user name, also when the text is not a URL at all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/result.hpp>

namespace penstock::store::redis {

enum class topology : std::uint8_t { standalone, sentinel, cluster };

enum class tls_verify : std::uint8_t {
  full,  // chain and host name
  ca,    // chain only
  none   // whoever answers; for tests and closed networks
};

struct host_port {
  std::string host;  // name or address, IPv6 without brackets
  std::uint16_t port = 0;
  friend bool operator==(const host_port&, const host_port&) = default;
};

struct credentials {
  std::string user;      // empty: the default user
  std::string password;  // empty: no AUTH
};

struct tls_options {
  bool enabled = false;
  std::string ca_file;    // empty: the system's
  std::string cert_file;  // empty: no client certificate
  std::string key_file;   // empty: the key is in cert_file
  tls_verify verify = tls_verify::full;
  std::string server_name;  // empty: the host connected to
};

struct redis_url {
  topology kind = topology::standalone;
  std::vector<host_port> hosts;  // one, or all that are named: sentinels, nodes to begin with
  std::string unix_path;         // not empty: instead of hosts
  credentials login;
  credentials sentinel_login;
  std::string master_name;  // sentinel
  int database = 0;         // 0 on a cluster
  tls_options tls;
};

// Errors: invalid_config, naming the part at fault.
[[nodiscard]] result<redis_url> parse_redis_url(std::string_view text);

// For logs and status pages: scheme, hosts, database; no secret.
[[nodiscard]] std::string describe(const redis_url& url);
[[nodiscard]] std::string describe(const host_port& at);  // "host:port", "[::1]:6379"

}  // namespace penstock::store::redis
