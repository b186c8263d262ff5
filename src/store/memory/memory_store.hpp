// The store in this process: the default, nothing to install.
//
// Answers before `check` returns. Thread-safe: shared by all event loops.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include <penstock/result.hpp>

#include "store/plain_store.hpp"
#include "store/store.hpp"

namespace penstock::store {

class memory_store final : public store {
 public:
  struct options {
    std::size_t max_bytes = std::size_t{64} << 20U;
  };

  // Errors: invalid_argument when max_bytes is below 1 MiB.
  [[nodiscard]] static result<std::unique_ptr<memory_store>> create(options o);

  progress check(batch& b, instant now) override { return plain_.check(b, now); }
  void record(std::span<const charge> charges, instant now) override {
    plain_.record(charges, now);
  }
  void refund(std::span<const charge> charges, instant charged_at, instant now) override {
    plain_.refund(charges, charged_at, now);
  }
  void reset(const counter& what, std::string_view key) override { plain_.reset(what, key); }

 private:
  memory_store() = default;
  plain_store plain_;
};

}  // namespace penstock::store
