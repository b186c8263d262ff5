#include "config/grammar/address_range.hpp"

#include <fmt/format.h>

#include "config/grammar/number.hpp"
#include "policy/address.hpp"

namespace penstock::config {

parsed<std::string> parse_address_range(std::string_view text) {
  constexpr std::string_view example = "for example 192.0.2.7, 10.0.0.0/8, \"fd00::/8\"";
  const auto slash = text.find('/');
  const auto address_text = text.substr(0, slash);
  const auto address = policy::address::parse(address_text);
  if (!address) {
    return problem{fmt::format("{} is not an address", quoted(address_text)), std::string(example),
                   0};
  }
  if (slash == std::string_view::npos) return std::string(text);
  const auto prefix = parse_count(text.substr(slash + 1));
  // ::ffff:a.b.c.d/n is the IPv4 range /(n - 96).
  const bool mapped = address->is_v4() && address_text.find(':') != std::string_view::npos;
  const int shift = mapped ? 96 : 0;
  const int longest = address->is_v4() && !mapped ? 32 : 128;
  if (!prefix || *prefix > longest || *prefix < shift) {
    return problem{fmt::format("{} is not a prefix length", quoted(text.substr(slash + 1))),
                   fmt::format("{} to {}", shift, longest), slash + 1};
  }
  const int bits = static_cast<int>(*prefix) - shift;
  const auto base = address->masked(bits);
  if (base != *address) {
    return problem{fmt::format("{} has bits behind its prefix", quoted(text)),
                   fmt::format("did you mean \"{}/{}\" or \"{}\"?", base.to_string(), bits,
                               address->to_string()),
                   0};
  }
  return std::string(text);
}

}  // namespace penstock::config
