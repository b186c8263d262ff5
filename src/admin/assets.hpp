// The dashboard's files, embedded at build time: it works offline and asks no other host.
#pragma once

#include <string_view>

namespace penstock::admin {

struct asset {
  std::string_view path;  // of the URL
  std::string_view content_type;
  std::string_view content;
};

// nullptr when there is none at `path`.
[[nodiscard]] const asset* find_asset(std::string_view path) noexcept;

// Lines for every asset: nothing but our own files is loaded, run, framed or asked.
inline constexpr std::string_view asset_fields =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src "
    "'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors "
    "'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Cache-Control: no-cache\r\n";

}  // namespace penstock::admin
