// One level of an nginx configuration (http, server, location): its own directives laid over what
// it inherits, as nginx merges them. Private to this folder.
#pragma once

#include <vector>

#include "import/nginx_model.hpp"

namespace penstock::import {

class level_reader {
 public:
  // `into`: its zones are looked up, remarks and error pages are added.
  explicit level_reader(nginx_model& into) : model_(into) {}

  // Errors: invalid_config, as nginx would refuse.
  [[nodiscard]] result<level> read(const std::vector<const directive*>& from, const level& outer);

 private:
  result<bool> read_one(const directive& d, level& into);
  result<bool> read_limit_req(const directive& d, level& into);
  void read_error_page(const directive& d);
  void leave_out(const directive& d, const char* why);

  nginx_model& model_;
};

}  // namespace penstock::import
