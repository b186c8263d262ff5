#include "cli/key_forms.hpp"

#include <algorithm>
#include <string>

#include "base/ascii.hpp"

namespace penstock::cli {
namespace {

std::string name_of(const policy::key_part& part) {
  using enum policy::key_kind;
  const auto with = [&part](std::string kind) {
    std::string name = part.name;
    if (part.kind == header) std::ranges::transform(name, name.begin(), ascii::lower);
    return std::move(kind) + "(" + name + ")";
  };
  switch (part.kind) {
    case global:
      return "*";
    case address:
      return "address";
    case api_key:
      return "api_key";
    case user:
      return "user";
    case route:
      return "route";
    case method:
      return "method";
    case host:
      return "host";
    case constant:
      return "constant";
    case header:
      return with("header");
    case query:
      return with("query");
    case cookie:
      return with("cookie");
  }
  return {};
}

}  // namespace

bool writes_keys_like(const policy::key_expression& expression, std::string_view key) {
  return std::ranges::any_of(expression.alternatives, [key](const auto& parts) {
    auto rest = key;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const auto plus = rest.find('+');
      if ((plus == std::string_view::npos) != (i + 1 == parts.size())) return false;
      const auto part = rest.substr(0, plus);
      if (part.substr(0, part.find_first_of(":#")) != name_of(parts[i])) return false;
      rest = plus == std::string_view::npos ? std::string_view{} : rest.substr(plus + 1);
    }
    return true;
  });
}

}  // namespace penstock::cli
