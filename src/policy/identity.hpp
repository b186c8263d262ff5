// Who a request says it is: API key and user. Immutable and safe to share; read() is pure.
//
// An API key that is not known counts as none, or made-up keys would buy fresh counters. A user
// header is believed only from a trusted peer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/result.hpp>

#include "base/field.hpp"
#include "base/sha256.hpp"
#include "policy/spec.hpp"

namespace penstock::policy {

// Sorted digests, for membership.
class digest_set {
 public:
  // Errors: invalid_config when a text is not 64 hex digits.
  [[nodiscard]] static result<digest_set> parse(const std::vector<std::string>& hex);
  [[nodiscard]] bool contains(const sha256_digest& d) const noexcept;

 private:
  std::vector<sha256_digest> sorted_;
};

struct identity {
  std::optional<sha256_digest> api_key;  // of the key; absent also when it is not known
  std::string_view user;                 // empty: none
  const char* refused = nullptr;         // a static sentence: an identity value stands there twice
};

class identity_reader {
 public:
  // `known` is used when the spec names a file of known keys. Errors: invalid_config.
  [[nodiscard]] static result<identity_reader> create(const identity_spec& spec,
                                                      const std::vector<std::string>& known);

  // `scratch` is only used during the call.
  [[nodiscard]] identity read(field_list fields, std::string_view query, bool from_trusted_peer,
                              std::string& scratch) const;

 private:
  identity_spec spec_;
  digest_set known_;
};

}  // namespace penstock::policy
