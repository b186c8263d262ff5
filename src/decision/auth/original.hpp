// Which request a forward-auth check is about. Every proxy says it in another way: header fields
// X-Original-*, header fields X-Forwarded-*, or the check's own request line behind /v1/auth.
//
// A client that can add header fields must not get a say: one family of fields is believed as a
// whole, two that disagree are a refusal, and what a proxy says about itself in the URL of the
// check
// (?original=x-forwarded) settles it. Pure; views only. Source: docs/guides/behind-*.md.
#pragma once

#include <cstdint>
#include <string_view>

#include "net/http1.hpp"

namespace penstock::decision {

inline constexpr std::string_view auth_path = "/v1/auth";

enum class original_source : std::uint8_t { any, x_original, x_forwarded };

// What the query of /v1/auth asks for.
struct auth_parameters {
  original_source from = original_source::any;
  int deny_status = 0;  // 400..499: instead of a limit's own; 0: that
};

// nullptr, or a static sentence that says what is wrong with the query.
[[nodiscard]] const char* parse_auth_parameters(std::string_view query, auth_parameters& out);

struct original_request {
  enum class state : std::uint8_t {
    known,
    ambiguous,     // could be read in two ways, which a client may have brought about: refuse
    misconfigured  // the proxy does not say it, or is not believed: nothing is counted
  };
  state what = state::known;
  const char* reason = "";  // a static sentence when it is not known
  std::string_view method;
  std::string_view path;  // as sent, without the query
  std::string_view query;
  std::string_view host;
};

// `believed`: header fields of this listener's peers are believed. Precondition: the path of
// `check` is auth_path or begins with auth_path and a slash.
[[nodiscard]] original_request find_original(const net::http1::request_head& check,
                                             original_source from, bool believed);

}  // namespace penstock::decision
