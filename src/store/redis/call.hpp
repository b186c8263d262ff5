// One command as a link sends it, and sends it again where the answer says that nothing was
// executed.
#pragma once

#include <cstdint>
#include <string>

#include "store/redis/scripts.hpp"

namespace penstock::store::redis {

struct call {
  const script* what = nullptr;  // null: `tail` is the whole command
  std::size_t words = 0;         // bulk strings in `tail`: number of keys, keys, arguments
  std::string tail;              // encoded
  bool by_text = false;          // EVAL instead of EVALSHA: the node does not know the script
  bool asking = false;           // behind ASKING
  // Whoever uses the call for something else counts this up: answers to the former use are dropped.
  std::uint64_t generation = 0;
};

}  // namespace penstock::store::redis
