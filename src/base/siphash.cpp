#include "base/siphash.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include <sys/random.h>

namespace penstock {

hash128 random_secret() {
  hash128 secret;
  auto* bytes = reinterpret_cast<unsigned char*>(&secret);
  std::size_t filled = 0;
  while (filled < sizeof secret) {
    const ssize_t n = getrandom(bytes + filled, sizeof secret - filled, 0);
    if (n > 0) {
      filled += static_cast<std::size_t>(n);
    } else if (errno != EINTR) {
      std::fputs("penstock: the system gives no random numbers (getrandom)\n", stderr);
      std::abort();
    }
  }
  return secret;
}

}  // namespace penstock
