// What the HTTP/1 fuzz targets check, as functions that the corpus test runs too. Each takes fuzz
// input and returns an empty string or what is wrong. The last two octets of the input choose how
// it is delivered; the rest is what the peer sends. Not for production.
#pragma once

#include <string>
#include <string_view>

namespace penstock::net::http1::testing {

// The same transcript whole, octet by octet and cut; every accepted head obeys the rules as told
// independently of the parser, and written out again parses to the same head.
[[nodiscard]] std::string check_requests(std::string_view input);
[[nodiscard]] std::string check_response(std::string_view input);

// Content, end and verdict equal those of a plain decoder of the whole text, for every delivery,
// and content written as chunks again reads back the same.
[[nodiscard]] std::string check_body(std::string_view input);

}  // namespace penstock::net::http1::testing
