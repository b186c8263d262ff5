// Tells the service manager what it should know: that this process serves, which process is the
// main one from now on, that it is stopping. One datagram to NOTIFY_SOCKET; of no effect without
// it. Source: sd_notify(3).
#pragma once

#include <string_view>

namespace penstock::cli {

// `state`: lines like "READY=1". `socket`: the value of NOTIFY_SOCKET, null when there is none.
void tell_service_manager(const char* socket, std::string_view state);

}  // namespace penstock::cli
