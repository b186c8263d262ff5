#include "base/sha256.hpp"

// The SHA256_* calls are deprecated in favour of EVP, but in OpenSSL 3.0 every digest by EVP
// allocates its state on the heap, reused context or not, and the request path must not allocate.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <cstdlib>

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "base/ascii.hpp"

namespace penstock {

sha256_digest sha256(std::string_view bytes) noexcept {
  SHA256_CTX context;
  sha256_digest digest{};
  const bool done = SHA256_Init(&context) == 1 &&
                    SHA256_Update(&context, bytes.data(), bytes.size()) == 1 &&
                    SHA256_Final(digest.data(), &context) == 1;
  if (!done) std::abort();
  return digest;
}

void append_hex(std::string& out, const sha256_digest& digest) {
  constexpr char digits[] = "0123456789abcdef";
  char text[2 * std::tuple_size_v<sha256_digest>];
  char* p = text;
  for (const std::uint8_t byte : digest) {
    *p++ = digits[byte >> 4];
    *p++ = digits[byte & 15];
  }
  out.append(text, sizeof text);
}

std::optional<sha256_digest> parse_sha256(std::string_view hex) noexcept {
  sha256_digest digest{};
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const int high = ascii::hex_value(hex[2 * i]);
    const int low = ascii::hex_value(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    digest[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return digest;
}

bool equal_constant_time(const sha256_digest& a, const sha256_digest& b) noexcept {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace penstock
