// Differential fuzzing of the algorithms: the input is a tape of operations (take, peek, refund,
// reload, clock steps both ways); every verdict must equal the reference model's.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "quota/testdata/tape.hpp"

namespace {

struct octets {
  const std::uint8_t* at;
  const std::uint8_t* end;

  [[nodiscard]] bool done() const { return at == end; }

  // As few octets as the range needs; 0 of the range when they run out.
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    const auto range = static_cast<std::uint64_t>(high - low);
    std::uint64_t value = 0;
    for (std::uint64_t left = range; left > 0 && at != end; left >>= 8U) {
      value = (value << 8U) | *at++;
    }
    return low + static_cast<std::int64_t>(value % (range + 1));
  }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  octets source{data, data + size};
  const std::string difference = penstock::quotas::testdata::tape{source}.play(200);
  if (!difference.empty()) {
    std::fputs(difference.c_str(), stderr);
    std::abort();
  }
  return 0;
}
