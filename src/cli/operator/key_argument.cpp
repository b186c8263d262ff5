#include "cli/operator/key_argument.hpp"

#include <iostream>
#include <iterator>

#include "base/sha256.hpp"

namespace penstock::cli {

std::string key_with_digest(std::string_view argument, std::string_view secret) {
  std::string key(argument.substr(0, argument.size() - 1));
  append_hex(key, sha256(secret));
  return key;
}

result<std::string> key_of(const std::string& argument) {
  if (!argument.ends_with("#-")) return argument;
  std::string secret{std::istreambuf_iterator<char>(std::cin), {}};
  if (secret.ends_with('\n')) secret.pop_back();
  if (secret.ends_with('\r')) secret.pop_back();
  if (secret.empty()) {
    return error{errc::invalid_argument,
                 "KEY ends in #-, but there is nothing on standard input; for example: "
                 "penstock inspect api_key#- < FILE"};
  }
  return key_with_digest(argument, secret);
}

}  // namespace penstock::cli
