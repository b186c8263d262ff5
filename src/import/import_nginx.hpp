// A policy from an nginx configuration: limit_req and what it depends on. What nginx does and
// Penstock does not do in the same way stands as a comment at its line. Pure: files are asked for
// through nginx_files, and the same files give the same text.
#pragma once

#include <cstddef>
#include <string>

#include "import/nginx_tree.hpp"

namespace penstock::import {

enum class face : std::uint8_t {
  gateway,  // Penstock stands in nginx's place, or between nginx and the API
  decision  // nginx keeps serving and asks (auth_request)
};

struct import_options {
  std::string prefix;  // folder of relative includes; empty: that of the main file
  face face_for = face::gateway;
};

struct imported_policy {
  std::string text;          // a policy file that loads
  std::size_t limits = 0;    // in it
  std::size_t differs = 0;   // remarks: carried over, not exactly
  std::size_t left_out = 0;  // remarks: not carried over
};

inline constexpr std::size_t most_limits = 1000;

// Errors: invalid_config with place and remedy where nginx would refuse the configuration too, or
// where it is larger than a policy can be; io when `path` cannot be read.
[[nodiscard]] result<imported_policy> import_nginx(const std::string& path,
                                                   const nginx_files& files,
                                                   const import_options& options);

}  // namespace penstock::import
