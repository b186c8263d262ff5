#include "policy/identity.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "policy/request_values.hpp"

namespace penstock::policy {

namespace {

// "Bearer KEY" -> "KEY": the scheme's case and the spaces after it must not make another key.
std::string_view without_scheme(std::string_view value) noexcept {
  const std::size_t space = value.find(' ');
  return space == std::string_view::npos ? value : ascii::trim(value.substr(space));
}

found_value find_api_key(const api_key_spec& spec, field_list fields, std::string_view query,
                         std::string& scratch) {
  switch (spec.from) {
    case identity_source::query:
      return find_query(query, spec.name, scratch);
    case identity_source::cookie:
      return find_cookie(fields, spec.name);
    case identity_source::header:
      break;
  }
  found_value found = find_field(fields, spec.name);
  if (ascii::iequals(spec.name, "authorization")) found.value = without_scheme(found.value);
  return found;
}

}  // namespace

result<digest_set> digest_set::parse(const std::vector<std::string>& hex) {
  digest_set set;
  set.sorted_.reserve(hex.size());
  for (const std::string& text : hex) {
    const auto digest = parse_sha256(text);
    if (!digest) return error{errc::invalid_config, "a SHA-256 has 64 hex digits"};
    set.sorted_.push_back(*digest);
  }
  std::sort(set.sorted_.begin(), set.sorted_.end());
  return set;
}

bool digest_set::contains(const sha256_digest& d) const noexcept {
  return std::binary_search(sorted_.begin(), sorted_.end(), d);
}

result<identity_reader> identity_reader::create(const identity_spec& spec,
                                                const std::vector<std::string>& known) {
  identity_reader reader;
  reader.spec_ = spec;
  if (spec.api_key && spec.api_key->name.empty()) {
    return error{errc::invalid_config, "identity.api_key: names no header, parameter or cookie"};
  }
  auto keys = digest_set::parse(known);
  if (!keys) return keys.error();
  reader.known_ = *std::move(keys);
  return reader;
}

identity identity_reader::read(field_list fields, std::string_view query, bool from_trusted_peer,
                               std::string& scratch) const {
  identity id;
  if (spec_.api_key) {
    const found_value key = find_api_key(*spec_.api_key, fields, query, scratch);
    if (key.how == occurs::repeatedly) id.refused = "the API key stands there twice";
    if (key.how == occurs::once && !key.value.empty()) {
      const sha256_digest digest = sha256(key.value);
      if (spec_.api_key->known.empty() || known_.contains(digest)) id.api_key = digest;
    }
  }
  if (from_trusted_peer && !spec_.user_header.empty()) {
    const found_value user = find_field(fields, spec_.user_header);
    if (user.how == occurs::repeatedly) id.refused = "the user stands there twice";
    id.user = user.value;
  }
  return id;
}

}  // namespace penstock::policy
