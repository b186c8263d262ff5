// Which address is the client: the walk from the peer leftwards over what trusted proxies wrote.
// Only an address that a trusted proxy vouched for is ever returned; whatever stands left of the
// first untrusted or unreadable item is the client's own invention and is not looked at. Pure.
// Sources: RFC 7239; X-Forwarded-For as nginx's recursive realip reads it.
#pragma once

#include <optional>
#include <string_view>

#include "base/field.hpp"
#include "policy/address.hpp"
#include "policy/address_set.hpp"
#include "policy/spec.hpp"

namespace penstock::policy {

// Items that are looked at in one request; further left is not believed.
inline constexpr int forwarded_items_max = 32;

// The client of a request from `peer`. Never fails: at worst it is the peer. `vouched`: the peer is
// trusted whatever `trusted` holds.
[[nodiscard]] address client_address(const address& peer, field_list fields,
                                     const address_set& trusted, address_source source,
                                     bool vouched = false) noexcept;

// Reads one X-Forwarded-For item: an address, alone, with a port ("203.0.113.9:51000"), or in
// brackets. nullopt: not an address.
[[nodiscard]] std::optional<address> parse_forwarded_item(std::string_view text) noexcept;

}  // namespace penstock::policy
