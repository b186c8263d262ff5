// Request targets and authorities of HTTP/1 (RFC 9112 3.2, RFC 3986 3.2). Pure; no allocation;
// views into the text given. Says whether the text is well-formed, not what it names: paths are
// made canonical by the policy.
#pragma once

#include <string_view>

namespace penstock::net::http1 {

struct request_head;

// Fills form, path, query, has_query of `out`, and authority for the absolute form. Returns
// nullptr, or a static sentence when the target is not one that a server for http and https takes.
// Precondition: `target` holds no control octet but HTAB.
[[nodiscard]] const char* parse_target(std::string_view method, std::string_view target,
                                       request_head& out) noexcept;

// host [":" port], with a non-empty host (name, IPv4 or bracketed IPv6 without zone), no userinfo,
// no list, and a port that is absent, empty or 0..65535.
[[nodiscard]] bool is_authority(std::string_view text) noexcept;

}  // namespace penstock::net::http1
