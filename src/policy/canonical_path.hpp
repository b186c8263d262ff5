// The one form of a path that is matched, counted and forwarded, so that no spelling of a path
// escapes the limits of what the upstream will serve for it.
//
// Escapes of unreserved characters are decoded, the others upper-cased; bytes that may not stand in
// a path are escaped; ";parameters" and dot segments are removed, slashes merged. A final slash
// stays, because upstreams may tell "/a" from "/a/"; matching ignores it. canonical(canonical(p)) =
// canonical(p). Pure. Source: RFC 3986 §6.2.2, §5.2.4.
#pragma once

#include <string>
#include <string_view>

#include "policy/spec.hpp"

namespace penstock::policy {

// Writes the canonical form of `path` (as sent, without the query; empty counts as "/") into `out`.
// Returns nullptr, or a static sentence that says why the path is ambiguous and must be refused;
// `out` is then unspecified. Allocates only to grow `out`.
[[nodiscard]] const char* canonicalise(std::string_view path, const paths_spec& options,
                                       std::string& out);

// Writes the form that patterns and route keys see into `out`: `canonical` without the final slash
// and with escaped "!$&'()*+,=:@" decoded, which upstreams do not tell apart either; lower case
// when the options fold. Returns a view of `out`, or of `canonical` when it needs no change.
[[nodiscard]] std::string_view match_form(std::string_view canonical, const paths_spec& options,
                                          std::string& out);

}  // namespace penstock::policy
