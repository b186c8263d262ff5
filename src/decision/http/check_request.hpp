// The body of POST /v1/check, read: one question, or up to 100 of them. Everything that is wrong is
// an error that names its place, unknown members too: a misspelt "cost" must not count as 1. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/result.hpp>

#include "base/field.hpp"
#include "policy/policy.hpp"

namespace penstock::decision {

inline constexpr std::size_t questions_max = 100;

// May this request pass? Or, with `charges`: may these units be taken, all of them or none?
struct check_question {
  std::string method = "GET";
  std::string target = "/";  // path and query as the client sent them
  std::string host;
  std::optional<policy::address> address;  // the client's, or its proxy's; absent: the caller's own
  std::string user;
  struct text_field {
    std::string name, value;
  };
  std::vector<text_field> headers;
  std::vector<field> fields;  // views of `headers`
  struct named_charge {
    std::string limit;
    std::vector<std::string> key;
    std::int64_t cost = -1;
  };
  std::vector<named_charge> charges;
  std::vector<policy::stated_charge> stated;  // views of `charges`
  std::int64_t cost = -1;                     // below 0: as the limits say
  bool peek = false;                          // tell, but take nothing
};

struct check_questions {
  bool batch = false;  // written as {"checks": […]}
  std::vector<check_question> all;
};

// Errors: invalid_argument, a sentence that begins with the member's place.
[[nodiscard]] result<check_questions> read_check_questions(std::string_view json);

}  // namespace penstock::decision
