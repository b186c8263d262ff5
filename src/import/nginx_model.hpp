// What of an nginx configuration bears on limiting: zones, limits at their levels with nginx's
// inheritance, locations, trusted proxies, variables by map and geo, upstreams. Everything else is
// passed over. Pure.
// Source: nginx.org documentation of limit_req, realip, map, geo, upstream and core modules.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "import/nginx_tree.hpp"

namespace penstock::import {

// limit_req_zone.
struct zone {
  std::string name;
  std::string key;          // as written, with variables
  std::int64_t size = 0;    // octets
  std::int64_t count = 1;   // requests …
  bool per_minute = false;  // … a second, or a minute
  place at;
};

// limit_req.
struct limit_use {
  std::size_t zone = 0;  // index of model::zones
  std::int64_t burst = 0;
  std::int64_t delay = 0;
  bool nodelay = false;
  place at;
  std::string text;
};

// What one level says, with what it inherits.
struct level {
  std::vector<limit_use> uses;
  bool own_uses = false;  // written at this level
  int status = 503;
  bool dry_run = false;
  std::vector<std::string> trusted;  // set_real_ip_from
  place trusted_at;
  std::string address_header = "X-Real-IP";
  place address_header_at;
  bool recursive = false;
};

// proxy_pass and its like.
struct target {
  std::string directive;  // "proxy_pass", …; empty: none
  std::string url;
  place at;
};

enum class location_kind : std::uint8_t { exact, prefix, final_prefix, regex, regex_nocase, named };

struct location {
  location_kind kind = location_kind::prefix;
  std::string pattern;
  place at;
  std::string text;
  level rules;
  bool answers_itself = false;  // `return`: the answer comes before any limit
  bool internal = false;        // for redirects inside nginx; clients get 404
  target to;
  std::vector<location> nested;
};

struct server {
  std::vector<std::string> names;
  std::vector<std::string> listens;  // as written
  bool says_default = false;         // default_server
  bool is_default = false;           // that, or the first of its port
  bool answers_itself = false;
  level rules;
  std::vector<location> locations;
  place at;
};

struct upstream_group {
  std::vector<std::string> servers;  // addresses without `down` and `backup` ones
  std::vector<std::string> ignored;  // what else it says: weights, balancing
  place at;
};

// One line of a map or geo block.
struct variable_case {
  std::string pattern;  // map: a value or ~regex; geo: an address, a CIDR or a range
  std::string value;
  place at;
};

struct variable_block {
  bool geo = false;
  std::string source;  // map: text with variables; geo: the variable with the address
  std::vector<variable_case> cases;
  std::string fallback;  // `default`
  bool ranges = false;   // geo: cases are FIRST-LAST
  std::string unknown;   // a parameter that changes its meaning, as `hostnames` or `proxy`
  place at;
};

enum class remark_kind : std::uint8_t {
  differs,  // carried over, but means something else in some case
  left_out  // not carried over
};

struct remark {
  remark_kind kind = remark_kind::differs;
  place at;
  std::string text;  // the line it is about; may be empty
  std::string why;
  bool gateway_only = false;  // no loss where nginx keeps serving
};

struct error_page {
  std::vector<int> codes;
  place at;
  std::string text;
};

struct nginx_model {
  std::vector<zone> zones;
  std::vector<server> servers;
  std::map<std::string, variable_block> variables;  // by name without '$'
  std::map<std::string, upstream_group> upstreams;
  std::vector<error_page> error_pages;
  std::vector<remark> remarks;  // found while reading
};

// Whether some location passes requests on to another program.
[[nodiscard]] bool passes_on(const server& s);

// Errors: invalid_config where nginx would refuse the file too: a rate or burst that is none, an
// unknown or repeated zone.
[[nodiscard]] result<nginx_model> read_model(const nginx_tree& tree);

}  // namespace penstock::import
