// Who may ask on a decision listener, and what its peers are believed. Immutable; pure.
#pragma once

#include <optional>

#include "base/field.hpp"
#include "base/sha256.hpp"

namespace penstock::decision {

struct trust {
  bool original = false;  // original method, URI and host in header fields
  bool peer = false;      // every peer is a trusted proxy: its X-Forwarded-For names the client
  std::optional<sha256_digest> token;  // of the secret that checks must carry; absent: none

  // Compares in constant time. A proxy cannot always use Authorization, which is its client's:
  // X-Penstock-Token serves as well.
  [[nodiscard]] bool may_ask(field_list fields) const noexcept;
};

}  // namespace penstock::decision
