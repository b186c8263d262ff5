// The stores of a process: counters in its own memory, or one client per loop of a shared Redis
// with a memory table beside it for the limits that count locally while Redis is away.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <penstock/result.hpp>

#include "config/config.hpp"
#include "net/loop.hpp"
#include "service/refusal_memory.hpp"
#include "store/memory/memory_store.hpp"
#include "store/redis/redis_store.hpp"
#include "store/redis/redis_url.hpp"

namespace penstock::cli {

// The URL as the client of the shared store reads it. Errors: invalid_config, without the place.
result<store::redis::redis_url> redis_url_of(const config::store_url& u);

class stores {
 public:
  // `changed(up, text)` is called when the shared store starts or stops serving, from a loop's
  // thread. The loops must outlive the stores and not run yet.
  // Errors: invalid_config (what stands behind '?' in the URL, files of it), invalid_argument.
  static result<std::unique_ptr<stores>> open(
      const config::store_config& c, std::vector<net::loop*> loops,
      std::function<void(bool up, const std::string& text)> changed);

  [[nodiscard]] store::store& of_loop(std::size_t i) noexcept;
  [[nodiscard]] store::memory_store& memory() noexcept { return *memory_; }
  [[nodiscard]] bool remote() const noexcept { return !remote_.empty(); }
  // Null when counters live in this process: refusals need no memory there.
  [[nodiscard]] service::refusal_memory* refusals_of_loop(std::size_t i) noexcept;
  // Whether every loop's client is served: false from the start until each has found the store.
  // Always true for memory. Thread-safe.
  [[nodiscard]] bool up() const noexcept {
    return up_.load(std::memory_order_relaxed) == remote_.size();
  }
  // Whether some loop's client has failed and is not served since: not the same as !up() at the
  // start. Thread-safe.
  [[nodiscard]] bool failed() const noexcept { return down_.load(std::memory_order_relaxed) != 0; }
  // What the shared store counts, summed over the loops. Thread-safe; only when remote().
  [[nodiscard]] std::uint64_t sum(cell store::redis::redis_cells::*of) const noexcept;
  // Asks the shared store for its memory, at most every five seconds. From one thread.
  void look_at_memory(instant now);
  // Bytes, as the shared store's nodes last said; 0: not known. Thread-safe.
  [[nodiscard]] std::uint64_t remote_memory() const noexcept {
    return remote_memory_.load(std::memory_order_relaxed);
  }
  // Tells the processes that share the store; hears them on the first loop, later or at once. Only
  // when remote().
  void post(std::string notice);
  void read_board(std::function<void(store::redis::redis_store::board)> then);
  // "memory" or the URL without its secrets.
  [[nodiscard]] const std::string& description() const noexcept { return description_; }

 private:
  stores() = default;
  void told(std::size_t loop, const store::redis::store_event& e);

  std::unique_ptr<store::memory_store> memory_;
  std::vector<std::unique_ptr<store::redis::redis_store>> remote_;
  std::vector<std::unique_ptr<service::refusal_memory>> refusals_;
  enum class found : std::uint8_t { nothing, up, down };
  std::vector<found> of_loop_;      // each written by its loop
  std::atomic<std::size_t> up_{0};  // loops
  std::atomic<std::size_t> down_{0};
  net::loop* first_loop_ = nullptr;
  std::string instance_;  // hexadecimal; of this process on the board
  instant next_memory_look_{};
  std::atomic<std::uint64_t> remote_memory_{0};
  std::function<void(bool, const std::string&)> changed_;
  std::string description_ = "memory";
};

}  // namespace penstock::cli
