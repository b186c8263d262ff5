// A set of addresses and networks: trusted proxies, exempt and blocked clients. Immutable once
// built and safe to share; a look-up is one binary search, whatever the networks' sizes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/result.hpp>

#include "policy/address.hpp"

namespace penstock::policy {

// The first and the last address of a network.
struct address_range {
  address first;
  address last;
};

// Reads "10.0.0.0/8", "fd00::/8" or one address. Bits after the prefix are ignored; an IPv4-mapped
// network of /96 or longer is the IPv4 network. Errors: invalid_config.
[[nodiscard]] result<address_range> parse_network(std::string_view text);

class address_set {
 public:
  address_set() = default;  // empty: contains nothing

  // Errors: invalid_config naming the first text that is no network.
  [[nodiscard]] static result<address_set> parse(std::span<const std::string> networks);

  [[nodiscard]] bool contains(const address& a) const noexcept;
  [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }

 private:
  std::vector<address_range> ranges_;  // sorted, disjoint
};

}  // namespace penstock::policy
