// Canonical paths are final and hide nothing; matching sees the same path twice.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "policy/canonical_path.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock::policy;
  if (size == 0) return 0;
  const paths_spec options{.fold_case = (data[0] & 1) != 0,
                           .keep_encoded_slash = (data[0] & 2) != 0};
  const std::string_view path(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string once, twice, scratch, again;
  if (canonicalise(path, options, once) != nullptr) return 0;
  const auto require = [](bool holds) {
    if (!holds) std::abort();
  };
  require(canonicalise(once, options, twice) == nullptr && once == twice);
  require(once == "*" || once.front() == '/');
  for (const char c : once) require(c > ' ' && c < '\x7f' && c != '\\' && c != ';' && c != '?');
  const std::string closed = once + "/";
  require(closed.find("/../") == std::string::npos && closed.find("/./") == std::string::npos);
  require(once.find("//") == std::string::npos);
  if (!options.keep_encoded_slash) require(once.find("%2F") == std::string::npos);
  const std::string matched(match_form(once, options, scratch));
  const std::string with_slash = once + (once.back() == '/' ? "" : "/");
  require(once == "*" || match_form(with_slash, options, again) == matched);
  return 0;
}
