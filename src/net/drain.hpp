// How a server that takes no new connections treats those that it has.
#pragma once

#include <cstdint>

namespace penstock::net {

// What a draining server does with a kept connection on which no request is under way. A request
// may be on its way at that very moment; whoever hands over to another process has time to wait for
// it.
enum class idle_clients : std::uint8_t {
  close_soon,       // at once, or within a second
  answer_once_more  // their next request is answered with `Connection: close`
};

}  // namespace penstock::net
