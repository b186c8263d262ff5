#include "store/memory/memory_store.hpp"

namespace penstock::store {

result<std::unique_ptr<memory_store>> memory_store::create(options o) {
  constexpr std::size_t least = std::size_t{1} << 20U;
  if (o.max_bytes < least) {
    return error{
        errc::invalid_argument,
        "the memory store needs max_bytes of at least 1048576, not " + std::to_string(o.max_bytes)};
  }
  return std::make_unique<memory_store>(o);
}

memory_store::memory_store(const options& o)
    : table_(o.max_bytes, o.secret ? *o.secret : random_secret()) {}

progress memory_store::check(batch& b, instant now) {
  table_.check(b, now);
  return progress::done;
}

void memory_store::record(std::span<const charge> charges, instant now) {
  table_.record(charges, now);
}

void memory_store::refund(std::span<const charge> charges, instant charged_at, instant now) {
  table_.refund(charges, charged_at, now);
}

void memory_store::reset(const counter& what, std::string_view key) {
  table_.reset(what, key);
}

}  // namespace penstock::store
