// libFuzzer entry point; the oracle is check_authority() of proxy_oracle.hpp. Seeds:
// testdata/corpus_authority.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "gateway/proxy_oracle.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong =
      penstock::gateway::testing::check_authority({reinterpret_cast<const char*>(data), size});
  if (!wrong.empty()) {
    std::fprintf(stderr, "oracle: %s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
