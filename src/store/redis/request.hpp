// A call of the store contract on its way: its parts (one per hash slot), its deadline, and who
// waits. Pooled: strings and vectors keep their memory from use to use.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <penstock/clock.hpp>

#include "net/resp.hpp"
#include "store/redis/call.hpp"
#include "store/redis/request_args.hpp"
#include "store/store.hpp"

namespace penstock::store::redis {

class link;
struct request;

struct part : call {
  request* of = nullptr;
  int slot = 0;
  std::vector<std::uint16_t> charges;  // indexes into the batch
  std::vector<image> images;  // of several slots: what undoing needs, at least one per charge
  std::uint8_t resent = 0;
  bool open = false;      // an answer is awaited
  bool admitted = false;  // every enforcing charge of it was
  instant decided_at{};
};

enum class request_state : std::uint8_t {
  checking,
  undoing,  // refused in one slot: what another slot took is taken back
  telling,  // nobody waits for the answer: record, refund, reset
  asking    // no charges: the answer is given to `then` as it is
};

struct request {
  batch* waiting = nullptr;  // null: nobody waits (any more)
  request_state state = request_state::checking;
  std::chrono::steady_clock::time_point deadline{};
  request* earlier = nullptr;  // in the order of deadlines
  request* later = nullptr;    // also: next of the free list
  std::vector<std::unique_ptr<part>> parts;
  std::size_t used = 0;                                        // parts in use
  std::size_t open = 0;                                        // parts whose answer is awaited
  std::function<void(std::span<const net::resp::node>)> then;  // asking; empty: no answer
};

}  // namespace penstock::store::redis
