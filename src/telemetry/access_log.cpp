#include "telemetry/access_log.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace penstock::telemetry {
namespace {

constexpr int batch_ms = 10;  // between two rounds, so that a busy log is written in large pieces
constexpr int wait_step_ms = 100;  // for a reader that takes nothing
constexpr int last_waits = 10;     // a second altogether at the end

struct opened {
  int descriptor = -1;
  bool blocking = false;
};

// Non-blocking, so that a reader that stopped cannot hold the writer for ever. Standard output is
// shared with others, whose mode must not change: it is opened anew where the system allows that.
opened open_path(const std::string& path) {
  constexpr int flags = O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC;
  if (path != "-") return {::open(path.c_str(), flags | O_CREAT, 0640), false};
  const int fresh = ::open("/proc/self/fd/1", flags);
  if (fresh >= 0) return {fresh, false};
  return {::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0), true};
}

// How many octets follow the last line's end once `octets` of the pieces have followed `before`.
std::size_t unfinished(const iovec* pieces, std::size_t octets, std::size_t before) noexcept {
  for (; octets > 0; ++pieces) {
    const std::string_view part(static_cast<const char*>(pieces->iov_base),
                                std::min(pieces->iov_len, octets));
    const auto end = part.rfind('\n');
    before = end == std::string_view::npos ? before + part.size() : part.size() - end - 1;
    octets -= part.size();
  }
  return before;
}

}  // namespace

// --- a loop's side

access_log::ring::ring(access_log& log, std::size_t octets)
    : log_(log), octets_(new char[std::bit_ceil(octets)]), size_(std::bit_ceil(octets)) {}

bool access_log::ring::put(std::string_view line) noexcept {
  const auto head = head_.load(std::memory_order_relaxed);
  if (line.size() > size_ - (head - tail_.load(std::memory_order_acquire))) {
    drop();
    return false;
  }
  const std::size_t at = head & (size_ - 1);
  const std::size_t first = std::min(line.size(), size_ - at);
  std::memcpy(octets_.get() + at, line.data(), first);
  std::memcpy(octets_.get(), line.data() + first, line.size() - first);
  // In one order with the writer's `asleep_`: either it sees the line or we see it asleep.
  head_.store(head + line.size());
  if (log_.asleep_.load()) log_.wake();
  return true;
}

// --- opening and ending

result<std::unique_ptr<access_log>> access_log::open(const std::string& path, std::size_t loops,
                                                     std::size_t octets_each) {
  const auto file = open_path(path);
  if (file.descriptor < 0) {
    return error{errc::io, "access log " + path + ": " + std::strerror(errno)};
  }
  std::unique_ptr<access_log> log(new access_log(path, file.descriptor, file.blocking));
  if (log->event_ < 0) return error{errc::io, std::string("access log: ") + std::strerror(errno)};
  for (std::size_t i = 0; i < loops; ++i) {
    log->rings_.push_back(std::make_unique<ring>(*log, octets_each));
  }
  log->writer_ = std::thread([raw = log.get()] { raw->run(); });
  return log;
}

access_log::access_log(std::string path, int descriptor, bool blocking)
    : path_(std::move(path)),
      descriptor_(descriptor),
      blocking_(blocking),
      event_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

access_log::~access_log() {
  if (writer_.joinable()) {
    stopping_ = true;
    wake();
    writer_.join();
  }
  ::close(descriptor_);
  if (event_ >= 0) ::close(event_);
}

void access_log::reopen() noexcept {
  reopen_ = true;
  wake();
}

access_log::counts access_log::count() const noexcept {
  counts sum{.write_errors = write_errors_.load(), .reopen_failures = reopen_failures_.load()};
  for (const auto& r : rings_) sum.dropped += r->dropped_.load(std::memory_order_relaxed);
  return sum;
}

// --- the writer's side

void access_log::wake() noexcept {
  asleep_ = false;
  const std::uint64_t one = 1;
  // Fails only when it is at its limit, and then the writer is woken already.
  [[maybe_unused]] const auto written = ::write(event_, &one, sizeof one);
}

bool access_log::idle() const noexcept {
  return !reopen_ && !stopping_ &&
         std::ranges::all_of(rings_, [](const auto& r) { return r->empty(); });
}

void access_log::run() {
  waits_left_ = last_waits;
  for (;;) {
    const bool last = stopping_;
    if (reopen_.exchange(false)) open_again();
    bool wrote = false;
    for (auto& r : rings_) wrote = drain(*r) || wrote;
    tell_drops();
    if (last) return;
    pollfd event{.fd = event_, .events = POLLIN, .revents = 0};
    if (wrote) {
      ::poll(nullptr, 0, stopping_ ? 0 : batch_ms);
      continue;
    }
    asleep_ = true;
    if (idle()) ::poll(&event, 1, -1);
    asleep_ = false;
    std::uint64_t woken = 0;
    [[maybe_unused]] const auto got = ::read(event_, &woken, sizeof woken);  // may be empty
  }
}

void access_log::open_again() {
  if (path_ == "-") return;
  const auto file = open_path(path_);
  if (file.descriptor < 0) {
    ++reopen_failures_;
    return;
  }
  ::close(std::exchange(descriptor_, file.descriptor));
  blocking_ = file.blocking;
  torn_ = false;
}

// Whole lines, all that there are now. True when there were some.
bool access_log::drain(ring& from) {
  const auto tail = from.tail_.load(std::memory_order_relaxed);
  const auto octets = static_cast<std::size_t>(from.head_.load() - tail);
  if (octets == 0) return false;
  const std::size_t at = tail & (from.size_ - 1);
  const std::size_t first = std::min(octets, from.size_ - at);
  std::array<iovec, 2> pieces{iovec{from.octets_.get() + at, first},
                              iovec{from.octets_.get(), octets - first}};
  if (!write_out(pieces.data(), static_cast<int>(pieces.size()))) ++write_errors_;
  from.tail_.store(tail + octets, std::memory_order_release);
  return true;
}

void access_log::tell_drops() {
  const auto dropped = count().dropped;
  if (dropped == told_) return;
  std::string line = "{\"dropped\":" + std::to_string(dropped - told_) + "}\n";
  iovec piece{line.data(), line.size()};
  if (write_out(&piece, 1)) told_ = dropped;
}

// False: the system refused some of it.
bool access_log::write_out(iovec* pieces, int count) {
  if (torn_) {
    char feed = '\n';
    torn_ = false;
    iovec end{&feed, 1};
    if (!write_out(&end, 1)) {
      torn_ = true;
      return false;
    }
  }
  std::size_t torn = 0;
  while (count > 0) {
    if (pieces->iov_len == 0) {
      ++pieces;
      --count;
      continue;
    }
    if (blocking_ && !wait_writable()) break;
    const ssize_t n = blocking_ ? ::write(descriptor_, pieces->iov_base,
                                          std::min<std::size_t>(pieces->iov_len, PIPE_BUF))
                                : ::writev(descriptor_, pieces, count);
    if (n < 0) {
      if (errno == EINTR) continue;
      if ((errno == EAGAIN || errno == EWOULDBLOCK) && wait_writable()) continue;
      break;
    }
    auto left = static_cast<std::size_t>(n);
    torn = unfinished(pieces, left, torn);
    while (count > 0 && left >= pieces->iov_len) {
      left -= pieces->iov_len;
      ++pieces;
      --count;
    }
    if (count > 0) {
      pieces->iov_base = static_cast<char*>(pieces->iov_base) + left;
      pieces->iov_len -= left;
    }
  }
  torn_ = count > 0 && torn > 0 && !take_back(torn);
  return count == 0;
}

// Ends a file where its last whole line does; nothing but a file can be shortened.
bool access_log::take_back(std::size_t octets) noexcept {
  struct stat file {};
  const auto size = static_cast<off_t>(octets);
  return ::fstat(descriptor_, &file) == 0 && S_ISREG(file.st_mode) && file.st_size >= size &&
         ::ftruncate(descriptor_, file.st_size - size) == 0;
}

// False: the process ends and there was no room for too long.
bool access_log::wait_writable() {
  for (;;) {
    pollfd room{.fd = descriptor_, .events = POLLOUT, .revents = 0};
    if (::poll(&room, 1, wait_step_ms) > 0) return true;
    if (stopping_ && --waits_left_ <= 0) return false;
  }
}

}  // namespace penstock::telemetry
