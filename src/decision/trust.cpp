#include "decision/trust.hpp"

#include <string_view>

#include "base/ascii.hpp"

namespace penstock::decision {

bool trust::may_ask(field_list fields) const noexcept {
  if (!token) return true;
  constexpr std::string_view scheme = "bearer ";
  for (const field& f : fields) {
    std::string_view secret;
    if (ascii::iequals(f.name, "x-penstock-token")) {
      secret = f.value;
    } else if (ascii::iequals(f.name, "authorization") &&
               ascii::iequals(f.value.substr(0, scheme.size()), scheme)) {
      secret = ascii::trim(f.value.substr(scheme.size()));
    } else {
      continue;
    }
    if (equal_constant_time(sha256(secret), *token)) return true;
  }
  return false;
}

}  // namespace penstock::decision
