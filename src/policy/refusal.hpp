// What a refused client reads: status, body and its media type. Immutable and safe to share; one
// responder per limit whose answer differs. docs/reference/headers.md is the reference.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/result.hpp>

#include "policy/negotiate.hpp"
#include "policy/policy.hpp"

namespace penstock::policy {

struct refusal {
  std::string_view limit;                      // name of the reported limit
  std::int64_t quota = 0;                      // most units at once
  std::optional<std::int64_t> retry_after;     // seconds; absent: no wait helps
  std::string_view reason;                     // machine-readable, told when no wait helps
  std::span<const std::string_view> violated;  // labels of all refusing windows
};

class responder {
 public:
  // Errors: invalid_config (a status outside 400..599, a content type that could split a header).
  [[nodiscard]] static result<responder> create(const response_spec& spec);

  // Sets status, body and content_type of `out`; appends Content-Language when a text was chosen.
  void write(field_list fields, const refusal& what, decision& out) const;

 private:
  response_spec spec_;
  std::vector<language_text> languages_;
};

// The fixed answers: 400, 403 and 503. `reason` is a static sentence.
void write_bad_request(std::string_view reason, decision& out);
void write_blocked(decision& out);
void write_unavailable(field_list fields, decision& out);

}  // namespace penstock::policy
