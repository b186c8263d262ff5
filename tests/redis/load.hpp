// A closed loop of requests on a store_runner: `lanes` at a time, each with a counter of its own
// whose capacity tells its answers apart, so that an answer to another request is seen. Not
// thread-safe.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "store_runner.hpp"

namespace penstock::redis_test {

class load {
 public:
  load(store_runner& on, std::size_t lanes);
  ~load();

  // Runs for `time`, or until Redis has answered `count` requests, but no longer than a minute.
  void run_for(std::chrono::milliseconds time);
  void run_until_answered(std::size_t count);

  struct seen {
    std::size_t answered = 0;  // by Redis
    std::size_t failed = 0;
    std::size_t failed_at_once = 0;  // of those
    std::size_t foreign = 0;         // answers that belong to another request
    std::chrono::microseconds slowest{};
    std::chrono::microseconds slowest_at_once{};
  };
  // Since the last call.
  seen take_seen();

 private:
  struct lane;
  static void done(store::batch& b);
  void start(lane& l);
  void finished(lane& l, bool at_once);

  store_runner& runner_;
  std::vector<std::unique_ptr<lane>> lanes_;
  std::vector<lane*> idle_;
  seen seen_;
  std::size_t open_ = 0;
  bool stopping_ = false;
};

}  // namespace penstock::redis_test
