// One HTTP request over a connection of its own, to a listener on this machine, with a deadline for
// the whole: connect, send and receive. Blocks the calling thread; reads the steady clock. The
// protocol is net/http1's machines; this is the socket around them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include <penstock/result.hpp>

#include "config/grammar/listen.hpp"

namespace penstock::cli {

struct http_reply {
  int status = 0;
  std::string body;
};

// Larger answers are refused: nothing that the admin API says comes near.
inline constexpr std::size_t reply_body_max = 16U << 20U;

struct call_options {
  std::chrono::milliseconds deadline{5000};
  int interrupt_fd = -1;  // >= 0: give up as soon as it is readable
};

// `request` is a whole HTTP/1.1 message with `Connection: close`; `method` is that of its first
// line. Errors: io, with the place and a remedy.
[[nodiscard]] result<http_reply> http_call(const config::listen_address& to,
                                           std::string_view method, std::string_view request,
                                           const call_options& options);

}  // namespace penstock::cli
