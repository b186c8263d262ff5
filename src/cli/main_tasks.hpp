// Work that other threads leave for the main one, which waits for signals: each piece of work is
// announced by SIGUSR1.
#pragma once

#include <functional>
#include <mutex>
#include <vector>

namespace penstock::cli {

class main_tasks {
 public:
  // From any thread; `work` runs on the main thread soon.
  void post(std::function<void()> work);
  // On the main thread, when the signal came.
  void run();

 private:
  std::mutex mutex_;
  std::vector<std::function<void()>> waiting_;
};

}  // namespace penstock::cli
