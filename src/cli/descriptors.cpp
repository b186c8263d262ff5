#include "cli/descriptors.hpp"

#include <algorithm>

#include <sys/resource.h>

namespace penstock::cli {

descriptor_shares share_descriptors(std::size_t limit, bool decides) noexcept {
  const std::size_t left =
      limit > 2 * reserved_descriptors ? limit - reserved_descriptors : limit / 2;
  const std::size_t decision = decides ? std::max<std::size_t>(1, left / 8) : 0;
  return {.gateway_clients = std::max<std::size_t>(1, (left - std::min(left, decision)) / 2),
          .decision_clients = decision};
}

std::size_t raise_descriptor_limit() noexcept {
  constexpr std::size_t plenty = std::size_t{1} << 20U;
  constexpr std::size_t usual = 1024;
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return usual;  // a filter of system calls
  const rlim_t wanted = std::min<rlim_t>(files.rlim_max, plenty);
  if (files.rlim_cur < wanted) {
    const rlimit raised{wanted, files.rlim_max};
    if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) return static_cast<std::size_t>(wanted);
  }
  return static_cast<std::size_t>(std::min<rlim_t>(files.rlim_cur, plenty));
}

}  // namespace penstock::cli
