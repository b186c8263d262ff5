#include "store/memory/memory_store.hpp"

namespace penstock::store {

result<std::unique_ptr<memory_store>> memory_store::create(options o) {
  constexpr std::size_t least = std::size_t{1} << 20U;
  if (o.max_bytes < least) {
    return error{errc::invalid_argument, "the memory store needs max_bytes of at least 1 MiB"};
  }
  return std::unique_ptr<memory_store>(new memory_store());
}

}  // namespace penstock::store
