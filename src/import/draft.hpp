// The policy that is being made, before it is text. Private to this folder.
#pragma once

#include <string>
#include <vector>

#include "import/import_nginx.hpp"
#include "import/nginx_key.hpp"
#include "import/nginx_model.hpp"
#include "import/paths.hpp"

namespace penstock::import {

struct limit_draft {
  std::string name;
  const zone* from = nullptr;
  const limit_use* use = nullptr;
  const imported_key* key = nullptr;
  std::string on_missing_key;      // as in imported_key
  std::vector<std::string> hosts;  // empty: every host
  path_shape where;
  std::vector<path_shape> except;
  int status = 503;
  bool dry_run = false;
  std::vector<std::string> differs;
};

struct policy_draft {
  face face_for = face::gateway;
  std::vector<limit_draft> limits;
  std::vector<std::string> exempt_addresses;
  std::vector<std::pair<std::string, std::string>> exempt_headers;  // name, value
  std::vector<std::string> trusted;
  std::string address_from;            // empty: no trusted proxies
  std::vector<remark> client_remarks;  // said above `client:`
  std::vector<std::string> upstreams;
  std::vector<std::string> listens;  // nginx's, for a comment
  std::vector<remark> gateway_remarks;
  std::int64_t zone_octets = 0;  // of the zones in use
  std::vector<remark> left_out;  // said at the end
};

// Fills limits and exemptions. Errors: invalid_config, more limits than a policy can have.
// `keys`: one for each zone; it and `model` have to outlive the draft.
[[nodiscard]] result<bool> draft_limits(const nginx_model& model,
                                        const std::vector<imported_key>& keys, policy_draft& draft);

// Fills what concerns proxies in front and the API behind.
void draft_client(const nginx_model& model, policy_draft& draft);
void draft_upstream(const nginx_model& model, policy_draft& draft);

// `file`: what the policy is said to be made from.
[[nodiscard]] imported_policy write_policy(const std::string& file, const policy_draft& draft);

}  // namespace penstock::import
