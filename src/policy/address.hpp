// An IP address as bits. IPv4-mapped IPv6 addresses are IPv4 whatever their spelling; zone ids are
// dropped. Equal addresses compare equal, so they share a key.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::policy {

class address {
 public:
  address() = default;  // 0.0.0.0
  static address v4(std::array<std::uint8_t, 4> octets) noexcept;
  static address v6(const std::array<std::uint8_t, 16>& octets) noexcept;  // mapped becomes v4

  // Strict text forms: dotted quad without leading zeros, RFC 4291 IPv6 with an optional zone
  // ("%eth0", "%25eth0") that is dropped. No brackets, no port.
  static std::optional<address> parse(std::string_view text) noexcept;

  [[nodiscard]] bool is_v4() const noexcept { return v4_; }
  // 4 or 16 significant octets from the front.
  [[nodiscard]] const std::array<std::uint8_t, 16>& octets() const noexcept { return octets_; }
  // With all bits after the first `prefix` cleared; prefix 0..32 or 0..128.
  [[nodiscard]] address masked(int prefix) const noexcept;
  // RFC 5952 text.
  [[nodiscard]] std::string to_string() const;
  // Appends the same without allocating beyond `out`'s capacity.
  void append_to(std::string& out) const;

  friend auto operator<=>(const address&, const address&) = default;

 private:
  bool v4_ = true;
  std::array<std::uint8_t, 16> octets_{};
};

}  // namespace penstock::policy
