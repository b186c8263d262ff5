// The store as one would write it on a blackboard: a map under one mutex, never evicting.
//
// It is the reference that every other store is compared with (conformance, concurrency) and the
// naive peer of the bench; the product uses the memory store. Thread-safe. Unbounded: a key stays
// until it is reset.
#pragma once

#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "quota/charge.hpp"
#include "store/store.hpp"

namespace penstock::store {

struct plain_cell;

class plain_store final : public store {
 public:
  plain_store();
  ~plain_store() override;
  plain_store(const plain_store&) = delete;
  plain_store& operator=(const plain_store&) = delete;

  progress check(batch& b, instant now) override;
  void record(std::span<const charge> charges, instant now) override;
  void refund(std::span<const charge> charges, instant charged_at, instant now) override;
  void reset(const counter& what, std::string_view key) override;

 private:
  std::mutex mutex_;
  std::unordered_map<std::string, plain_cell> cells_;  // by length of id, id, key
};

}  // namespace penstock::store
