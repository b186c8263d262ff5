// Lines from event loops to one file, without ever holding a loop up: each loop copies whole lines
// into a ring of its own, one thread writes them. When the reader or the disk is too slow the ring
// fills and further lines are dropped, counted, and told by a line `{"dropped":N}` as soon as there
// is room again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <sys/uio.h>

#include <penstock/result.hpp>

namespace penstock::telemetry {

class access_log {
 public:
  // One producer (a loop), one consumer (the writer).
  class ring {
   public:
    ring(access_log& log, std::size_t octets);
    // `line` is complete, its line feed included. False: dropped, and counted. Never blocks; on its
    // loop's thread only.
    bool put(std::string_view line) noexcept;
    // Counts a line that its loop did not even make.
    void drop() noexcept { dropped_.fetch_add(1, std::memory_order_relaxed); }

   private:
    friend class access_log;
    [[nodiscard]] bool empty() const noexcept { return head_.load() == tail_.load(); }

    access_log& log_;
    std::unique_ptr<char[]> octets_;
    std::size_t size_;                    // a power of two
    std::atomic<std::uint64_t> head_{0};  // octets ever put
    std::atomic<std::uint64_t> tail_{0};  // octets ever taken
    std::atomic<std::uint64_t> dropped_{0};
  };

  struct counts {
    std::uint64_t dropped = 0;          // lines that found their ring full, or were not made
    std::uint64_t write_errors = 0;     // batches that the system refused (disk full); lost
    std::uint64_t reopen_failures = 0;  // the old file stays in use
  };

  static constexpr std::size_t ring_octets = 256U << 10U;

  // `path` "-" is standard output; a file is appended to, made if missing with mode 0640.
  // Errors: io.
  static result<std::unique_ptr<access_log>> open(const std::string& path, std::size_t loops,
                                                  std::size_t octets_each = ring_octets);
  // Writes what is left, for at most a second. No loop may put any more.
  ~access_log();
  access_log(const access_log&) = delete;
  access_log& operator=(const access_log&) = delete;

  [[nodiscard]] ring& of_loop(std::size_t i) noexcept { return *rings_[i]; }

  // Opens the path anew, as after a rotation; done by the writer, soon. Thread-safe.
  void reopen() noexcept;

  [[nodiscard]] counts count() const noexcept;  // thread-safe

 private:
  access_log(std::string path, int descriptor, bool blocking);

  void run();
  void wake() noexcept;
  void open_again();
  bool drain(ring& from);
  void tell_drops();
  bool write_out(iovec* pieces, int count);
  bool take_back(std::size_t octets) noexcept;
  bool wait_writable();
  [[nodiscard]] bool idle() const noexcept;

  std::string path_;
  int descriptor_;
  bool blocking_;  // then only small writes after a look whether there is room
  int event_;
  std::vector<std::unique_ptr<ring>> rings_;
  std::atomic<bool> asleep_{false};
  std::atomic<bool> reopen_{false};
  std::atomic<bool> stopping_{false};
  std::atomic<std::uint64_t> write_errors_{0};
  std::atomic<std::uint64_t> reopen_failures_{0};
  std::uint64_t told_ = 0;  // of the dropped lines
  bool torn_ = false;       // the last line ended too soon
  int waits_left_ = 0;      // for room, once stopping
  std::thread writer_;
};

}  // namespace penstock::telemetry
