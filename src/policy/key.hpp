// What a limit counts by, compiled, and how it is written for the store.
//
// The written form is injective and holds no byte that a client could use to steer a store: kinds
// and names come from the policy, values stand as they are only in [A-Za-z0-9._-], else as SHA-256
// behind another separator. docs/reference/keys.md is the reference. Immutable, pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <penstock/result.hpp>

#include "policy/identity.hpp"
#include "policy/path_index.hpp"
#include "policy/policy.hpp"
#include "policy/spec.hpp"

namespace penstock::policy {

// What a key may be made of.
struct key_facts {
  const request_view& request;
  const identity& who;
  const address& client;
  const client_spec& prefixes;
  std::string_view path;  // in match form
  std::string_view host;  // lower case, without port
};

enum class key_outcome : std::uint8_t { written, missing, denied, repeated };

class limit_key {
 public:
  // Errors: invalid_config (an empty expression, a header, query or cookie part without a name).
  [[nodiscard]] static result<limit_key> create(const limit_spec& limit,
                                                const path_pattern& pattern);

  // Appends the request's key to `out`. missing: the limit does not concern the request; denied: it
  // must be refused; repeated: a counted value stands there twice. `out` keeps its old content and
  // may only have grown when written.
  [[nodiscard]] key_outcome append(std::string& out, const key_facts& facts,
                                   std::string& scratch) const;

  // What stated values are read by.
  struct reading {
    const client_spec& prefixes;
    const paths_spec& paths;
  };
  // Appends the key of a caller who names its parts, "user:42", in any order; see stated_charge.
  // `who` learns user and API key. False: these are not the parts of any alternative, or a value is
  // none of its kind; `out` is then as it was.
  [[nodiscard]] bool append_stated(std::string& out, std::span<const std::string> parts,
                                   const reading& how, identity& who) const;

  // Two keys with equal signatures write the same for every request.
  [[nodiscard]] const std::string& signature() const noexcept { return signature_; }
  [[nodiscard]] bool uses(key_kind kind) const noexcept;

 private:
  struct part {
    key_kind kind;
    bool show;
    std::string name;
    std::string prefix;  // "header(x-tenant)"
  };
  using alternative = std::vector<part>;

  key_outcome append_part(std::string& out, const part& p, const key_facts& facts,
                          std::string& scratch) const;
  [[nodiscard]] bool append_stated_part(std::string& out, const part& p, std::string_view value,
                                        const reading& how, identity& who) const;
  key_outcome append_all(std::string& out, const alternative& parts, bool fill,
                         const key_facts& facts, std::string& scratch) const;

  std::vector<alternative> alternatives_;
  missing_key on_missing_ = missing_key::skip;
  std::vector<path_pattern::segment> route_;  // empty: the path itself
  std::string shared_route_;                  // not empty: stands for every path
  std::string signature_;
};

}  // namespace penstock::policy
