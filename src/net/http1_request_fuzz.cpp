// libFuzzer entry point; the oracle is check_requests() of http1_oracle.hpp. Seeds:
// testdata/corpus_request.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "net/http1_oracle.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string wrong =
      penstock::net::http1::testing::check_requests({reinterpret_cast<const char*>(data), size});
  if (!wrong.empty()) {
    std::fprintf(stderr, "oracle: %s\n", wrong.c_str());
    std::abort();
  }
  return 0;
}
