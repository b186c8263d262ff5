// SHA-256 by OpenSSL, for keys that must not be stored as they are and for comparing secrets.
// Thread-safe, no state, no allocation.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock {

using sha256_digest = std::array<std::uint8_t, 32>;

// The digest of any bytes. Ends the process should OpenSSL fail: nothing could be counted.
[[nodiscard]] sha256_digest sha256(std::string_view bytes) noexcept;

// Appends 64 lower-case hex digits.
void append_hex(std::string& out, const sha256_digest& digest);

// Reads 64 hex digits of either case; nullopt for anything else.
[[nodiscard]] std::optional<sha256_digest> parse_sha256(std::string_view hex) noexcept;

// Equality whose time does not depend on where the digests differ.
[[nodiscard]] bool equal_constant_time(const sha256_digest& a, const sha256_digest& b) noexcept;

}  // namespace penstock
