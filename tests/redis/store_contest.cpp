// One process of a contest over last units; tests/redis/exactness starts eight and judges what they
// saw. Writes its history, one line for each charge (contest_plan.hpp).
//   store_contest PLAN OUT URL PROCESS IN_FLIGHT REQUESTS SEED   over Redis: a store, one loop
//   store_contest PLAN OUT memory 0 THREADS REQUESTS SEED        over the memory store: OUT.0,
//   OUT.1
//                                                                ... of THREADS threads
#include <atomic>
#include <barrier>
#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/steady_timer.hpp>
#include <sched.h>

#include "contest_plan.hpp"
#include "store/memory/memory_table.hpp"
#include "store/memory/spin_lock.hpp"
#include "store_runner.hpp"

namespace penstock::redis_test {
namespace {

// The real lock of the memory store. It hands out a ticket while a shard is held, so the last
// ticket of a call is its place in the order in which the store decided. Some holders offer their
// core inside, so that others come to wait at the lock.
struct ticket_lock {
  static inline std::atomic<std::int64_t> tickets{0};
  static inline thread_local std::int64_t mine = 0;

  static void lock(std::atomic<std::uint32_t>& word) noexcept {
    store::spin_lock::lock(word);
    mine = tickets.fetch_add(1, std::memory_order_relaxed);
  }
  static void unlock(std::atomic<std::uint32_t>& word) noexcept { store::spin_lock::unlock(word); }
  static void inside() noexcept {
    if (mine % 8 == 0) sched_yield();
  }
};

void contest_in_memory(const contest_plan& plan, const std::string& out, int threads, int requests,
                       std::uint64_t seed) {
  store::memory_table<ticket_lock> table(std::size_t{64} << 20U, hash128{seed, 1});
  // A clock that runs with the requests and not with the machine: windows end all the time. Threads
  // read it before they queue for the lock, so the store also sees it going back a little.
  std::atomic<std::int64_t> now{1'800'000'000'000'000};
  std::barrier together(threads);
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      contest_requests source(plan, seed * 1'000 + static_cast<std::uint64_t>(t));
      history_writer history(plan, out + "." + std::to_string(t), t);
      together.arrive_and_wait();
      for (int i = 0; i < requests; ++i) {
        contest_request r = source.next();
        const std::int64_t begun = monotonic_ns();
        const instant at{duration{now.fetch_add(static_cast<std::int64_t>(source.below(120)))}};
        if (r.refunds) {
          table.refund(r.charges, r.charged_at, at);
        } else {
          store::batch b{.charges = r.charges, .verdicts = r.verdicts, .why = r.why};
          table.check(b, at);
        }
        history.write(r, begun, monotonic_ns(), ticket_lock::mine, at, false);
        if (!r.refunds) source.answered(r, at);
      }
    });
  }
  for (std::thread& t : all) t.join();
}

class redis_contest {
 public:
  redis_contest(const contest_plan& plan, const std::string& out, const std::string& url,
                int process, int in_flight, std::uint64_t seed)
      : source_(plan, seed * 1'000 + static_cast<std::uint64_t>(process)),
        history_(plan, out, process),
        runner_(url, std::chrono::seconds{20}) {
    for (int i = 0; i < in_flight; ++i) {
      lanes_.push_back(std::make_unique<lane>(runner_.context()));
      lanes_.back()->of = this;
    }
  }

  // False when Redis cannot be reached.
  bool run(int requests) {
    if (!runner_.run_until([&] { return runner_.store().serving(); })) return false;
    // All processes begin at one instant, whenever they were started.
    std::cout << "ready" << std::endl;
    std::string go;
    std::getline(std::cin, go);
    left_ = requests;
    for (const auto& l : lanes_) start(*l);
    return runner_.run_until([&] { return open_ == 0; }, std::chrono::minutes{10});
  }

 private:
  struct lane {
    explicit lane(boost::asio::io_context& context) : rest(context) {}

    store::batch b;  // first: the callback gets its address
    redis_contest* of = nullptr;
    contest_request request;
    std::int64_t begun = 0;
    boost::asio::steady_timer rest;
  };

  static void done(store::batch& b) {
    lane& l = reinterpret_cast<lane&>(b);
    --l.of->open_;
    l.of->finished(l);
    l.of->start(l);
  }

  void finished(lane& l) {
    history_.write(l.request, l.begun, monotonic_ns(), l.b.decided_at.time_since_epoch().count(),
                   l.b.decided_at, l.b.failed);
    if (!l.b.failed) source_.answered(l.request, l.b.decided_at);
  }

  void start(lane& l) {
    while (left_-- > 0) {
      l.request = source_.next();
      l.begun = monotonic_ns();
      if (l.request.refunds) {
        runner_.store().refund(l.request.charges, l.request.charged_at, instant{});
        history_.write(l.request, l.begun, monotonic_ns(), -1, instant{}, false);
        continue;
      }
      l.b = {.charges = l.request.charges, .verdicts = l.request.verdicts, .why = l.request.why};
      l.b.on_done = &redis_contest::done;
      if (runner_.store().check(l.b, instant{}) == store::progress::pending) {
        ++open_;
        return;
      }
      finished(l);
      // Failed at once, since Redis is not there: the contest goes on when it is.
      ++open_;
      l.rest.expires_after(std::chrono::milliseconds{100});
      l.rest.async_wait([this, &l](const boost::system::error_code&) {
        --open_;
        start(l);
      });
      return;
    }
  }

  contest_requests source_;
  history_writer history_;
  store_runner runner_;
  std::vector<std::unique_ptr<lane>> lanes_;
  int left_ = 0;
  int open_ = 0;
};

int main_of(const std::vector<std::string>& words) {
  if (words.size() != 7) {
    std::cerr
        << "usage: store_contest PLAN OUT URL|memory PROCESS IN_FLIGHT|THREADS REQUESTS SEED\n";
    return 2;
  }
  const contest_plan plan = contest_plan::read(words[0]);
  const int wide = std::stoi(words[4]);
  const int requests = std::stoi(words[5]);
  const std::uint64_t seed = std::stoull(words[6]);
  if (words[2] == "memory") {
    contest_in_memory(plan, words[1], wide, requests, seed);
    return 0;
  }
  redis_contest contest(plan, words[1], words[2], std::stoi(words[3]), wide, seed);
  return contest.run(requests) ? 0 : 1;
}

}  // namespace
}  // namespace penstock::redis_test

int main(int argc, char** argv) {
  return penstock::redis_test::main_of({argv + 1, argv + argc});
}
