// Lines through real files and pipes: none torn, none mixed, none awaited.
#include "telemetry/access_log.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace penstock::telemetry {
namespace {

class AccessLog : public testing::Test {
 protected:
  AccessLog() {
    std::string name = std::filesystem::temp_directory_path() / "penstock-log-XXXXXX";
    folder = ::mkdtemp(name.data());
  }
  ~AccessLog() override { std::filesystem::remove_all(folder); }

  [[nodiscard]] static std::vector<std::string> lines_of(const std::string& file) {
    std::vector<std::string> out;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) out.push_back(line);
    return out;
  }
  static bool eventually(const std::function<bool()>& condition) {
    for (int i = 0; i < 2'000; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  // (lines told as dropped, other lines) of what a reader got so far.
  static std::pair<std::uint64_t, std::uint64_t> told_and_written(const std::string& got) {
    std::uint64_t told = 0;
    std::uint64_t lines = 0;
    for (std::size_t at = 0, end = 0; (end = got.find('\n', at)) != std::string::npos;
         at = end + 1) {
      if (got.compare(at, 11, "{\"dropped\":") == 0) {
        told += std::stoull(got.substr(at + 11));
      } else {
        EXPECT_EQ(got.substr(at, end - at), std::string(99, 'a'));
        ++lines;
      }
    }
    return {told, lines};
  }

  std::string folder;
};

// Four loops at once, lines that wrap around their rings: each arrives whole, in its loop's order.
TEST_F(AccessLog, WritesEveryLineWholeAndInItsLoopsOrder) {
  const std::string file = folder + "/log";
  constexpr std::size_t loops = 4;
  constexpr int each = 20'000;
  std::uint64_t dropped = 0;
  {
    auto log = access_log::open(file, loops, 1U << 20U);
    ASSERT_TRUE(log);
    std::vector<std::thread> threads;
    for (std::size_t l = 0; l < loops; ++l) {
      threads.emplace_back([&, l] {
        for (int i = 0; i < each; ++i) {
          const std::string line = std::to_string(l) + " " + std::to_string(i) + " " +
                                   std::string(static_cast<std::size_t>(i % 37), 'x') + ".\n";
          (*log)->of_loop(l).put(line);
        }
      });
    }
    for (auto& t : threads) t.join();
    dropped = (*log)->count().dropped;
  }
  std::vector<int> last(loops, -1);
  std::size_t seen = 0;
  for (const auto& line : lines_of(file)) {
    if (line.starts_with("{")) continue;
    std::size_t loop = 0;
    int number = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%zu %d", &loop, &number), 2) << line;
    ASSERT_TRUE(line.ends_with('.')) << line;
    ASSERT_GT(number, last.at(loop));
    last[loop] = number;
    ++seen;
  }
  EXPECT_EQ(seen + dropped, loops * each);
}

// A reader that stopped costs lines, never time; the gap is told once it reads again.
TEST_F(AccessLog, DropsAndTellsWhenTheReaderStops) {
  const std::string fifo = folder + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  std::string got;
  std::uint64_t dropped = 0;
  {
    auto log = access_log::open(fifo, 1, 4096);
    ASSERT_TRUE(log);
    const std::string line = std::string(99, 'a') + "\n";
    for (int i = 0; i < 10'000; ++i) (*log)->of_loop(0).put(line);
    dropped = (*log)->count().dropped;
    EXPECT_GT(dropped, 5'000U);
    EXPECT_TRUE(eventually([&] {
      char buffer[65536];
      const auto n = ::read(reader, buffer, sizeof buffer);
      if (n > 0) got.append(buffer, static_cast<std::size_t>(n));
      return told_and_written(got) == std::pair(dropped, 10'000 - dropped);
    })) << got.size();
  }
  ::close(reader);
}

// Rotation: what comes after reopen() goes to the new file, nothing is lost in between.
TEST_F(AccessLog, ReopensItsPath) {
  const std::string file = folder + "/log";
  auto log = access_log::open(file, 1);
  ASSERT_TRUE(log);
  (*log)->of_loop(0).put("one\n");
  ASSERT_TRUE(eventually([&] { return lines_of(file).size() == 1; }));
  std::filesystem::rename(file, file + ".1");
  (*log)->reopen();
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(file); }));
  (*log)->of_loop(0).put("two\n");
  ASSERT_TRUE(eventually([&] { return lines_of(file).size() == 1; }));
  EXPECT_EQ(lines_of(file).front(), "two");
  EXPECT_EQ(lines_of(file + ".1").front(), "one");
}

// A folder that vanished must not cost the lines that can still be written.
TEST_F(AccessLog, KeepsTheOldFileWhenTheNewOneCannotBeOpened) {
  const std::string file = folder + "/in/log";
  std::filesystem::create_directory(folder + "/in");
  auto log = access_log::open(file, 1);
  ASSERT_TRUE(log);
  std::filesystem::rename(folder + "/in", folder + "/moved");
  (*log)->reopen();
  ASSERT_TRUE(eventually([&] { return (*log)->count().reopen_failures == 1; }));
  (*log)->of_loop(0).put("kept\n");
  EXPECT_TRUE(eventually([&] { return lines_of(folder + "/moved/log").size() == 1; }));
}

// A full disk is counted and survived.
TEST_F(AccessLog, CountsWhatTheSystemRefuses) {
  auto log = access_log::open("/dev/full", 1);
  if (!log) GTEST_SKIP() << "no /dev/full here";
  (*log)->of_loop(0).put("lost\n");
  EXPECT_TRUE(eventually([&] { return (*log)->count().write_errors == 1; }));
}

// What reads the log trips over half a line: what did not fit is taken back.
TEST_F(AccessLog, LeavesNoHalfLineWhereTheDiskIsFull) {
  const std::string file = folder + "/log";
  const std::string line = std::string(99, 'a') + '\n';
  auto log = access_log::open(file, 1);
  ASSERT_TRUE(log);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = 1'050, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  for (int i = 0; i < 50; ++i) (*log)->of_loop(0).put(line);
  EXPECT_TRUE(eventually([&] { return (*log)->count().write_errors >= 1; }));
  ::setrlimit(RLIMIT_FSIZE, &before);
  (*log)->of_loop(0).put(line);
  log->reset();
  std::signal(SIGXFSZ, ignored);
  const auto lines = lines_of(file);
  EXPECT_GE(lines.size(), 11U);
  for (const auto& one : lines) EXPECT_EQ(one, std::string(99, 'a'));
}

// A path that cannot be opened is told at the start.
TEST_F(AccessLog, SaysWhyItCannotOpen) {
  const auto log = access_log::open(folder + "/no/such/log", 1);
  ASSERT_FALSE(log);
  EXPECT_NE(log.error().message.find("/no/such/log: No such file"), std::string::npos);
}

// The end does not wait for a reader that will never read.
TEST_F(AccessLog, EndsAlthoughNobodyReads) {
  const std::string fifo = folder + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK);
  auto log = access_log::open(fifo, 1);
  ASSERT_TRUE(log);
  const std::string line(1'000, 'a');
  for (int i = 0; i < 250; ++i) (*log)->of_loop(0).put(line);
  const auto before = std::chrono::steady_clock::now();
  log->reset();
  EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::seconds(10));
  ::close(reader);
}

}  // namespace
}  // namespace penstock::telemetry
