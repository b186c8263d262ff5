#include "cli/main_tasks.hpp"

#include <csignal>
#include <utility>

#include <unistd.h>

namespace penstock::cli {

void main_tasks::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
  }
  kill(getpid(), SIGUSR1);
}

void main_tasks::run() {
  std::vector<std::function<void()>> work;
  {
    const std::lock_guard lock(mutex_);
    work.swap(waiting_);
  }
  for (auto& one : work) one();
}

}  // namespace penstock::cli
