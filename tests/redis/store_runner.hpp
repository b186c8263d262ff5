// A redis_store on a loop that the test turns by hand. Not thread-safe.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/io_context.hpp>

#include "store/redis/redis_store.hpp"

namespace penstock::redis_test {

class store_runner {
 public:
  // Throws when the URL or its files cannot be used.
  explicit store_runner(const std::string& url,
                        std::chrono::milliseconds deadline = std::chrono::seconds{2},
                        bool decide_at_callers_time = false);

  // Turns the loop until `done` or for `patience`; returns done().
  bool run_until(const std::function<bool()>& done,
                 std::chrono::milliseconds patience = std::chrono::seconds{10});
  void run_for(std::chrono::milliseconds time);

  // Waits for a batch that is pending.
  void wait(store::batch& b);
  struct answer {
    bool failed = false;
    bool at_once = false;  // answered before check returned
    verdict result;
    std::chrono::microseconds took{};
  };
  answer take(const counter& what, std::string_view key = "k", std::int64_t cost = 1);

  store::redis::redis_store& store() { return *store_; }
  [[nodiscard]] const std::vector<std::string>& events() const noexcept { return events_; }
  boost::asio::io_context& context() noexcept { return context_; }

 private:
  boost::asio::io_context context_;
  std::vector<std::string> events_;
  std::unique_ptr<store::redis::redis_store> store_;
};

[[nodiscard]] counter make_counter(std::string id, const quota& q, bool count_denied = false);

}  // namespace penstock::redis_test
