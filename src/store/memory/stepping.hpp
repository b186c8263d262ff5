// A lock for tests that stops at every point where threads can meet, and a scheduler that runs a
// small program in every order: each run is one path through the choices, repeated from the start.
// Test code only. One scheduler at a time.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <numeric>
#include <random>
#include <thread>
#include <vector>

namespace penstock::store::stepping {

class scheduler {
 public:
  using program = std::vector<std::function<void()>>;  // one function per thread

  // Runs `make()` once per order of its threads' steps and `verify()` after each; returns the
  // number of orders. `waits()` counts the times a thread stood before a lock that another one
  // held. With `preemptions`: only orders in which so many threads at most are stopped where they
  // could have gone on. Source of the bound: Musuvathi, Qadeer, "Iterative context bounding"
  // (2007).
  std::size_t run_all(const std::function<program()>& make, const std::function<void()>& verify,
                      std::size_t preemptions = SIZE_MAX) {
    std::size_t orders = 0;
    std::vector<choice> path;
    do {
      std::size_t depth = 0;
      std::size_t spent = 0;
      run_once(make(), [&](const std::vector<std::size_t>& able, bool first_could_go_on) {
        const bool may_switch = !first_could_go_on || spent < preemptions;
        if (depth == path.size()) path.push_back({0, may_switch ? able.size() : 1});
        const std::size_t taken = path[depth++].taken;
        if (first_could_go_on && taken > 0) ++spent;
        return able[taken];
      });
      verify();
      ++orders;
      while (!path.empty() && path.back().taken + 1 == path.back().of) path.pop_back();
      if (!path.empty()) ++path.back().taken;
    } while (!path.empty());
    return orders;
  }

  // Runs `make()` under `orders` random schedules: the thread of highest priority goes on, and at
  // `changes` random steps among the first `steps` the running one falls below all others. Finds a
  // fault that needs so many switches with a known probability per schedule. Source: Burckhardt and
  // others, "A randomized scheduler with probabilistic guarantees of finding bugs" (2010).
  void run_random(const std::function<program()>& make, const std::function<void()>& verify,
                  std::size_t orders, std::size_t changes, std::size_t steps, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (std::size_t i = 0; i < orders; ++i) {
      const program threads = make();
      std::vector<std::size_t> rising(threads.size());  // the last has the highest priority
      std::iota(rising.begin(), rising.end(), std::size_t{0});
      std::shuffle(rising.begin(), rising.end(), random);
      std::vector<std::size_t> change_at(changes);
      for (std::size_t& at : change_at) at = random() % steps;
      std::size_t depth = 0;
      run_once(threads, [&](const std::vector<std::size_t>& able, bool) {
        const auto best = [&] {
          return *std::find_if(rising.rbegin(), rising.rend(), [&](std::size_t t) {
            return std::find(able.begin(), able.end(), t) != able.end();
          });
        };
        if (std::find(change_at.begin(), change_at.end(), depth++) != change_at.end()) {
          const auto falls = std::find(rising.begin(), rising.end(), best());
          std::rotate(rising.begin(), falls, falls + 1);
        }
        return best();
      });
      verify();
    }
  }
  [[nodiscard]] std::size_t waits() const { return waits_; }

  // The calling thread stops here until it is its turn; a thread that wants a held lock is passed
  // over.
  static void step(const std::atomic<std::uint32_t>* wanted) {
    scheduler* s = current;
    if (s == nullptr || me == nobody) return;
    std::unique_lock lock(s->mutex_);
    s->wants_[me] = wanted;
    s->running_ = nobody;
    s->changed_.notify_all();
    s->changed_.wait(lock, [&] { return s->running_ == me; });
    s->wants_[me] = nullptr;
  }

 private:
  static constexpr std::size_t nobody = SIZE_MAX;
  struct choice {
    std::size_t taken;
    std::size_t of;
  };
  static inline scheduler* current = nullptr;
  static inline thread_local std::size_t me = nobody;

  // Which of the threads that can go on does; the one that ran last comes first when it can.
  using chooser = std::function<std::size_t(const std::vector<std::size_t>& able, bool ran_last)>;

  void run_once(const program& threads, const chooser& choose) {
    current = this;
    const std::size_t n = threads.size();
    wants_.assign(n, nullptr);
    done_.assign(n, false);
    running_ = nobody;
    std::size_t waiting = 0;
    std::vector<std::thread> started;
    for (std::size_t i = 0; i < n; ++i) {
      started.emplace_back([this, i, n, &threads, &waiting] {
        me = i;
        {
          std::unique_lock lock(mutex_);
          if (++waiting == n) changed_.notify_all();
          changed_.wait(lock, [&] { return running_ == i; });
        }
        threads[i]();
        const std::lock_guard lock(mutex_);
        done_[i] = true;
        running_ = nobody;
        changed_.notify_all();
      });
    }
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return waiting == n; });
      for (std::size_t last = nobody;;) {
        changed_.wait(lock, [&] { return running_ == nobody; });
        std::vector<std::size_t> able;
        for (std::size_t i = 0; i < n; ++i) {
          if (done_[i]) continue;
          if (wants_[i] != nullptr && wants_[i]->load() != 0) {
            ++waits_;
          } else {
            able.push_back(i);
          }
        }
        if (able.empty()) break;
        const auto ran_last = std::find(able.begin(), able.end(), last);
        const bool could_go_on = ran_last != able.end();
        if (could_go_on) std::rotate(able.begin(), ran_last, ran_last + 1);
        running_ = last = choose(able, could_go_on);
        changed_.notify_all();
      }
    }
    for (std::thread& t : started) t.join();
    current = nullptr;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<const std::atomic<std::uint32_t>*> wants_;
  std::vector<bool> done_;
  std::size_t running_ = nobody;
  std::size_t waits_ = 0;
};

struct stepping_lock {
  static void unlock(std::atomic<std::uint32_t>& word) { word.store(0); }
  static void lock(std::atomic<std::uint32_t>& word) {
    scheduler::step(&word);
    word.store(1);
  }
  static void inside() { scheduler::step(nullptr); }
};

// Stops at the same points and keeps nobody out: what the tests must be able to find.
struct no_lock {
  static void lock(std::atomic<std::uint32_t>&) { scheduler::step(nullptr); }
  static void unlock(std::atomic<std::uint32_t>&) {}
  static void inside() { scheduler::step(nullptr); }
};

}  // namespace penstock::store::stepping
