// libFuzzer entry point. Oracle: the verdict never changes with later octets, every proper prefix
// of a header asks for more, and a header written again as version 1 names the same addresses.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <arpa/inet.h>

#include "net/proxy_protocol.hpp"

namespace {

using namespace penstock::net::proxy_protocol;

void require(bool good) {
  if (!good) std::abort();
}

std::string address(const endpoint& e) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = e.size == 4 ? AF_INET : AF_INET6;
  require(inet_ntop(family, e.octets.data(), text.data(), text.size()) != nullptr);
  return text.data();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const parsed whole = parse(input);
  bool more = true;
  for (std::size_t n = 0; n <= size; ++n) {
    const parsed part = parse(std::string(input, 0, n));
    require(more || part.status == whole.status);
    more = part.status == parse_status::need_more;
    if (whole.status == parse_status::complete) require(more == (n < whole.consumed));
  }
  if (whole.status != parse_status::complete) return 0;
  require(whole.source.size == whole.destination.size);
  if (whole.source.size == 0) return 0;
  const std::string again = std::string("PROXY TCP") + (whole.source.size == 4 ? '4' : '6') + ' ' +
                            address(whole.source) + ' ' + address(whole.destination) + ' ' +
                            std::to_string(whole.source.port) + ' ' +
                            std::to_string(whole.destination.port) + "\r\n";
  const parsed second = parse(again);
  require(second.status == parse_status::complete && second.source == whole.source &&
          second.destination == whole.destination);
  return 0;
}
