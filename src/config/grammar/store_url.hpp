// Where the shared counters live:
//   redis://[USER:PASSWORD@]HOST[:PORT][/DB]         rediss://… the same over TLS
//   unix://[USER:PASSWORD@]/PATH[?db=DB]
//   redis+sentinel://[USER:PASSWORD@]HOST[:PORT],…/MASTER[/DB]
//   redis+cluster://[USER:PASSWORD@]HOST[:PORT],…
// with, behind '?', db first and then ca, cert, key (files), verify (full | ca | none),
// server_name, sentinel_user and sentinel_password. `valkey` stands for `redis` everywhere. The URL
// holds a secret: no message repeats any of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/grammar/listen.hpp"
#include "config/grammar/parsed.hpp"

namespace penstock::config {

enum class store_kind : std::uint8_t { redis, sentinel, cluster };

struct store_url {
  store_kind kind = store_kind::redis;
  bool tls = false;
  std::vector<host_port> hosts{};  // redis: one; sentinel (port 26379) and cluster: seeds
  std::string unix_path{};         // not empty: hosts is empty
  std::string user{};              // decoded; empty: the default user
  std::string password{};          // decoded; secret; empty: none
  std::string master{};            // sentinel: the name of the master
  int database = 0;                // 0..1023; cluster: 0
  std::string options{};  // what else stands behind '?', for the store to read; may hold a secret
  friend bool operator==(const store_url&, const store_url&) = default;
};

[[nodiscard]] parsed<store_url> parse_store_url(std::string_view text);

// For people: user and password are left out.
[[nodiscard]] std::string redacted(const store_url& u);

}  // namespace penstock::config
