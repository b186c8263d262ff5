// Any bytes are either refused with at least one placed issue, or give a configuration that
// compiles into a policy; the same bytes as a --limit flag likewise. No crash, no secret in what is
// shown.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "config/limit_flag.hpp"
#include "config/lint.hpp"
#include "config/load.hpp"
#include "policy/policy.hpp"

namespace {

using namespace penstock;

void require(bool ok) {
  if (!ok) std::abort();
}

int lines_of(std::string_view text) {
  int lines = 1;
  for (const char c : text) lines += c == '\n' ? 1 : 0;
  return lines;
}

void check_file(std::string_view text) {
  const auto r = config::load_text("f.yaml", text);
  for (const auto& i : r.issues) {
    require(!i.message.empty() && i.at.line >= 0 && i.at.line <= lines_of(text) &&
            i.at.column >= 0);
  }
  (void)config::format(r.issues, r.source);
  if (!r.ok()) return;
  (void)config::format(config::lint(r.value), r.source);
  require(policy::compile(r.value.policy).has_value());
}

void check_flag(std::string_view text) {
  const auto limit = config::parse_limit_flag(text);
  if (!limit) {
    require(!limit.error().message.empty() && limit.error().offset <= text.size());
    return;
  }
  policy::policy_spec spec;
  spec.identity.api_key = policy::api_key_spec{policy::identity_source::header, "X-API-Key", {}};
  spec.identity.user_header = "X-User-Id";
  spec.limits.push_back(*limit);
  require(policy::compile(spec).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_file(text);
  if (size < 256) check_flag(text);
  return 0;
}
