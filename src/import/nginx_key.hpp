// What a limit_req_zone counts by, as a Penstock key: nginx's variables, composite keys, and the
// idioms of map and geo (an allow list, one method only, a fallback for an absent value). Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "import/nginx_model.hpp"

namespace penstock::import {

struct imported_key {
  bool usable = false;
  std::string why_not;  // of a key that has no counterpart

  std::string expression;      // "header(X-Api-Key) | address"
  std::string on_missing_key;  // "skip", "shared"; empty: some value is always there
  bool per_server = false;     // contains $server_name: a limit of one server only
  // In a server without a name, where $server_name is empty:
  bool empty_without_name = false;      // the whole key is
  std::string on_missing_without_name;  // instead of on_missing_key

  // Requests that nginx does not count (empty key).
  std::vector<std::string> exempt_addresses;
  std::vector<std::pair<std::string, std::string>> exempt_headers;  // name, value
  std::vector<std::string> methods;  // not empty: only these are counted

  std::vector<std::string> differs;  // why it is not exactly the same
};

// `trusting`: set_real_ip_from is in use somewhere, so that $realip_remote_addr is another address.
[[nodiscard]] imported_key import_key(const nginx_model& model, const std::string& key,
                                      bool trusting);

}  // namespace penstock::import
