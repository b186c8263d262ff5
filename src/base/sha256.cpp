#include "base/sha256.hpp"

#include <cstdlib>
#include <memory>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/ascii.hpp"

namespace penstock {

namespace {

struct free_context {
  void operator()(EVP_MD_CTX* p) const noexcept { EVP_MD_CTX_free(p); }
};

// Fetched once: an implicit fetch per digest takes a lock and costs more than hashing a short key.
const EVP_MD* algorithm_once() noexcept {
  static EVP_MD* const md = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return md;
}

}  // namespace

sha256_digest sha256(std::string_view bytes) noexcept {
  static thread_local const std::unique_ptr<EVP_MD_CTX, free_context> context{EVP_MD_CTX_new()};
  sha256_digest digest{};
  const bool done = context != nullptr &&
                    EVP_DigestInit_ex(context.get(), algorithm_once(), nullptr) == 1 &&
                    EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1 &&
                    EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) == 1;
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
