// The value of an nginx variable that map or geo makes, as cases: under which condition it is which
// text. Chains (a map over a geo) are followed. Private to this folder. Pure.
#pragma once

#include <string>
#include <vector>

#include "import/nginx_model.hpp"

namespace penstock::import {

enum class condition_kind : std::uint8_t {
  address,  // the client's address lies in `value`
  header,   // the header `name` is `value`
  method,   // the method is `value`
  absent,   // the variable `name` is empty
  other     // what has no counterpart; `value` says it in words
};

struct condition {
  condition_kind kind = condition_kind::other;
  std::string name;
  std::string value;

  // In words, for remarks: "the address is in 10.0.0.0/8".
  [[nodiscard]] std::string text() const;
};

struct case_value {
  condition when;
  std::string value;  // a text with variables; empty: not limited
};

struct variable_cases {
  std::vector<case_value> cases;
  std::string fallback;
  std::string problem;  // not empty: it cannot be followed, and why
};

// `name` without '$'; has to be in model.variables.
[[nodiscard]] variable_cases cases_of(const nginx_model& model, const std::string& name);

// "http_x_api_key" → "X-Api-Key"; empty: the variable is no header.
[[nodiscard]] std::string header_of(const std::string& variable);

}  // namespace penstock::import
