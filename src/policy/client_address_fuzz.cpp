// Behind an untrusted peer the client is the peer, and what a trusted proxy appended last is never
// overruled by what stands left of it.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "policy/client_address.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock::policy;
  if (size == 0) return 0;
  static const address_set trusted =
      address_set::parse(std::vector<std::string>{"10.0.0.0/8", "fd00::/8"}).value();
  static const address peer = *address::parse("10.0.0.1");
  static const address stranger = *address::parse("198.51.100.1");
  static const address client = *address::parse("203.0.113.9");
  const auto source = static_cast<address_source>(data[0] % 5);
  const std::string value(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto require = [](bool holds) {
    if (!holds) std::abort();
  };
  std::vector<penstock::field> fields{
      {"X-Forwarded-For", value}, {"Forwarded", value}, {"X-Real-IP", value}};
  require(client_address(stranger, fields, trusted, source) == stranger);
  const address found = client_address(peer, fields, trusted, source);
  require(address::parse(found.to_string()) == found);

  // A field line of its own: nothing left of it counts.
  fields.push_back({"X-Forwarded-For", "203.0.113.9"});
  fields.push_back({"Forwarded", "for=203.0.113.9;proto=https"});
  if (source == address_source::x_forwarded_for || source == address_source::forwarded) {
    require(client_address(peer, fields, trusted, source) == client);
  }
  // The same in one line, which an open quote of the client's can only turn into the proxy itself.
  const std::string xff = value + ", 203.0.113.9";
  const std::string forwarded = value + ", for=203.0.113.9";
  const std::vector<penstock::field> one{{"X-Forwarded-For", xff}, {"Forwarded", forwarded}};
  const address got = client_address(peer, one, trusted, source);
  if (source == address_source::x_forwarded_for) require(got == client);
  if (source == address_source::forwarded) require(got == client || got == peer);
  return 0;
}
