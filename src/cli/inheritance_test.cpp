#include "cli/inheritance.hpp"

#include <map>
#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace penstock::cli {
namespace {

using variables = std::map<std::string, std::string>;

auto reader(const variables& v) {
  return [&v](const char* name) {
    const auto at = v.find(name);
    return at == v.end() ? std::nullopt : std::optional(at->second);
  };
}

struct row {
  const char* name;
  variables environment;
};

// Variables that are not for this process, or make no sense, must not make it close or serve what
// happens to be open at descriptor 3.
TEST(Inheritance, TakesNothingUnlessTheVariablesAreForThisProcess) {
  const std::string self = std::to_string(::getpid());
  const row rows[] = {
      {"no variable", {}},
      {"another process", {{"LISTEN_PID", "1"}, {"LISTEN_FDS", "1"}}},
      {"no process", {{"LISTEN_FDS", "1"}}},
      {"no count", {{"LISTEN_PID", self}}},
      {"zero", {{"LISTEN_PID", self}, {"LISTEN_FDS", "0"}}},
      {"negative", {{"LISTEN_PID", self}, {"LISTEN_FDS", "-1"}}},
      {"not a number", {{"LISTEN_PID", self}, {"LISTEN_FDS", "3x"}}},
      {"far too many", {{"LISTEN_PID", self}, {"LISTEN_FDS", "2000000000"}}},
  };
  const bool open_before = ::fcntl(first_inherited, F_GETFD) >= 0;
  for (const auto& r : rows) {
    const auto got = take_inheritance(reader(r.environment), ::getpid());
    EXPECT_TRUE(got.sockets.empty()) << r.name;
    EXPECT_FALSE(got.ready.awaited()) << r.name;
    EXPECT_EQ(::fcntl(first_inherited, F_GETFD) >= 0, open_before) << r.name;
  }
}

// In a child, where descriptors 3 to 6 are free to be laid out as a predecessor does.
int lay_out_and_take() {
  auto opened = net::open_listener({.host = "127.0.0.1", .port = 0}, {});
  if (!opened) return 10;
  int pipe_ends[2];
  if (::pipe(pipe_ends) != 0) return 11;
  const int source[] = {::fcntl(opened->sockets[0].descriptor(), F_DUPFD, 50),
                        ::fcntl(pipe_ends[0], F_DUPFD, 50), ::fcntl(pipe_ends[1], F_DUPFD, 50)};
  for (int fd = 3; fd < 50; ++fd) ::close(fd);
  for (int i = 0; i < 3; ++i) ::dup2(source[i], first_inherited + i);  // 6 stays closed
  const variables v = {{"LISTEN_PID", "77"},
                       {"LISTEN_FDS", "4"},
                       {"LISTEN_FDNAMES", "gateway:something:penstock-ready"}};
  auto got = take_inheritance(reader(v), 77);
  if (got.sockets.size() != 1 || got.sockets[0].name != "gateway") return 1;
  if (got.sockets[0].socket.descriptor() != first_inherited) return 2;
  if (::fcntl(first_inherited, F_GETFD) != FD_CLOEXEC) return 3;
  if (::fcntl(first_inherited + 1, F_GETFD) >= 0) return 4;  // not a listening socket: closed
  if (!got.ready.awaited()) return 5;
  got.ready.say();
  char word = 0;
  if (::read(source[1], &word, 1) != 1 || word != '1') return 6;
  if (got.ready.awaited() || ::fcntl(first_inherited + 2, F_GETFD) >= 0) return 7;
  return 0;
}

// What is left by a predecessor or by systemd is recognised by what it is, not by its place alone.
TEST(Inheritance, TakesListeningSocketsAndThePipeAndClosesTheRest) {
  const auto child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) ::_exit(lay_out_and_take());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace penstock::cli
