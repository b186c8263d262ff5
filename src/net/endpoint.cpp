#include "net/endpoint.hpp"

namespace penstock::net {

std::string endpoint::to_string() const {
  if (is_unix()) return "unix:" + unix_path;
  const bool v6 = host.find(':') != std::string::npos;
  return (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace penstock::net
