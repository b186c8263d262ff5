// Descriptors are what a process runs out of first. Each face gets a share of them, so that no
// number of clients of one keeps the others, and what an operator looks at, from answering.
#pragma once

#include <cstddef>

namespace penstock::cli {

// Files, listeners, the store, admin and health: never given to clients.
inline constexpr std::size_t reserved_descriptors = 64;

struct descriptor_shares {
  std::size_t gateway_clients = 0;   // each may need one more, for its upstream
  std::size_t decision_clients = 0;  // 0 without that face
};
// `limit`: of the process. At least one for each face.
[[nodiscard]] descriptor_shares share_descriptors(std::size_t limit, bool decides) noexcept;

// Raises the process's limit as far as the system lets it; what it is then.
std::size_t raise_descriptor_limit() noexcept;

}  // namespace penstock::cli
