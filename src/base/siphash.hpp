// SipHash-1-3 with 128-bit output: a keyed hash whose collisions nobody without the key can make.
//
// Inline, because it runs once per charge on the request path. Pure and thread-safe.
// Source: J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF" (2012), and the
// 128-bit variant of its reference implementation (github.com/veorq/SipHash).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace penstock {

// 128 bits: the secret key of a hash, or its value.
struct hash128 {
  std::uint64_t lo = 0;
  std::uint64_t hi = 0;
  friend bool operator==(const hash128&, const hash128&) = default;
};

namespace siphash_detail {

struct lanes {
  std::uint64_t v0, v1, v2, v3;

  constexpr void round() noexcept {
    v0 += v1;
    v2 += v3;
    v1 = std::rotl(v1, 13) ^ v0;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 = std::rotl(v0, 32);
    v2 += v1;
    v0 += v3;
    v1 = std::rotl(v1, 17) ^ v2;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 = std::rotl(v2, 32);
  }

  template <int Rounds>
  constexpr void rounds() noexcept {
    for (int i = 0; i < Rounds; ++i) round();
  }
};

inline std::uint64_t load_le(const char* p) noexcept {
  static_assert(std::endian::native == std::endian::little, "byte order of the words below");
  std::uint64_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// The last n < 8 bytes of a message of `size` >= n bytes, low byte first, without reading past it.
inline std::uint64_t load_tail(const char* end, std::size_t n, std::size_t size) noexcept {
  if (n == 0) return 0;
  if (size >= 8) return load_le(end - 8) >> (64 - 8 * n);
  std::uint64_t word = 0;
  std::memcpy(&word, end - n, n);
  return word;
}

}  // namespace siphash_detail

// `Compress` and `Finish` are the rounds per 8 bytes and at the end: 1-3 for tables, 2-4 where the
// published test vectors are to be compared.
template <int Compress = 1, int Finish = 3>
[[nodiscard]] inline hash128 siphash128(const hash128& key, std::string_view message) noexcept {
  siphash_detail::lanes s{0x736f6d6570736575U ^ key.lo, 0x646f72616e646f6dU ^ key.hi ^ 0xeeU,
                          0x6c7967656e657261U ^ key.lo, 0x7465646279746573U ^ key.hi};
  const char* p = message.data();
  const char* const words_end = p + (message.size() & ~std::size_t{7});
  for (; p != words_end; p += 8) {
    const std::uint64_t m = siphash_detail::load_le(p);
    s.v3 ^= m;
    s.rounds<Compress>();
    s.v0 ^= m;
  }
  const std::size_t rest = message.size() & 7U;
  const std::uint64_t last = (std::uint64_t{message.size()} << 56U) |
                             siphash_detail::load_tail(words_end + rest, rest, message.size());
  s.v3 ^= last;
  s.rounds<Compress>();
  s.v0 ^= last;
  s.v2 ^= 0xeeU;
  s.rounds<Finish>();
  hash128 out;
  out.lo = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
  s.v1 ^= 0xddU;
  s.rounds<Finish>();
  out.hi = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
  return out;
}

// A fresh secret from the operating system. Blocks only while the system's pool is not yet seeded.
// Errors end the process: without randomness no table may be opened to clients.
[[nodiscard]] hash128 random_secret();

}  // namespace penstock
