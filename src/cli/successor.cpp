#include "cli/successor.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/inheritance.hpp"
#include "net/loop.hpp"

namespace penstock::cli {
namespace {

constexpr std::int64_t start_limit_ms = 60'000;
constexpr std::int64_t end_limit_ms = 10'000;  // after the pipe was closed without a word
constexpr std::string_view pid_variable = "LISTEN_PID=";
constexpr std::size_t pid_digits_max = 10;

std::vector<std::string> own_arguments() {
  std::vector<std::string> out;
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  const std::string all{std::istreambuf_iterator<char>(in), {}};
  for (std::size_t from = 0; from < all.size();) {
    const auto end = std::min(all.find('\0', from), all.size());
    out.push_back(all.substr(from, end - from));
    from = end + 1;
  }
  return out;
}

// The name by which this program was started, when it is a path: what a link points to or a package
// puts there next is what a successor should be. A name that was searched for is resolved now.
std::string own_program(const std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments.front().find('/') != std::string::npos) {
    return arguments.front();
  }
  std::array<char, 4096> path{};
  const auto size = ::readlink("/proc/self/exe", path.data(), path.size());
  return size > 0 ? std::string(path.data(), static_cast<std::size_t>(size)) : std::string();
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (auto& s : strings) out.push_back(s.data());
  out.push_back(nullptr);
  return out;
}

// Everything that the new process needs, made before the fork: between fork and exec a process with
// threads may only make system calls.
struct plan {
  std::vector<int> descriptors;  // in their order; the pipe is the last
  std::vector<std::string> arguments, environment;
  std::vector<char*> argv, envp;
  char* pid_digits = nullptr;  // where the child writes its own number
};

plan make_plan(std::vector<std::string> arguments, const std::vector<net::named_socket>& sockets,
               int ready) {
  plan p;
  std::string names;
  for (const auto& s : sockets) {
    p.descriptors.push_back(s.socket.descriptor());
    names += s.name + ':';
  }
  p.descriptors.push_back(ready);
  names += ready_name;
  for (char** v = environ; *v != nullptr; ++v) {
    if (!std::string_view(*v).starts_with("LISTEN_")) p.environment.emplace_back(*v);
  }
  p.environment.push_back("LISTEN_FDS=" + std::to_string(p.descriptors.size()));
  p.environment.push_back("LISTEN_FDNAMES=" + names);
  p.environment.push_back(std::string(pid_variable) + std::string(pid_digits_max, '\0'));
  p.arguments = std::move(arguments);
  p.argv = pointers(p.arguments);
  p.envp = pointers(p.environment);
  p.pid_digits = p.environment.back().data() + pid_variable.size();
  return p;
}

// In the child. System calls only.
[[noreturn]] void become(const char* program, plan& p) {
  const int count = static_cast<int>(p.descriptors.size());
  const int end = first_inherited + count;
  // Out of the way of their places first, then into them.
  for (int& fd : p.descriptors) {
    fd = ::fcntl(fd, F_DUPFD_CLOEXEC, end);
    if (fd < 0) ::_exit(126);
  }
  for (int i = 0; i < count; ++i) {
    if (::dup2(p.descriptors[static_cast<std::size_t>(i)], first_inherited + i) < 0) ::_exit(126);
  }
  // Not all of what this process has open closes by itself: clients of a connection that it ends
  // would wait for an end that only comes with the successor's.
  if (::close_range(static_cast<unsigned>(end), ~0U, 0) != 0) {
    const long limit = ::sysconf(_SC_OPEN_MAX);
    for (int fd = end; fd < limit; ++fd) ::close(fd);
  }
  std::to_chars(p.pid_digits, p.pid_digits + pid_digits_max, ::getpid());
  ::execve(program, p.argv.data(), p.envp.data());
  ::_exit(127);
}

}  // namespace

successor::successor() : arguments_(own_arguments()) {
  program_ = own_program(arguments_);
}

successor::~successor() {
  forget();
}

std::optional<error> successor::start(const std::vector<net::named_socket>& sockets) {
  const auto failure = [](const char* what) {
    return error{errc::io, std::string(what) + ": " + std::strerror(errno)};
  };
  if (::access(program_.c_str(), X_OK) != 0) return failure(program_.c_str());
  std::array<int, 2> ready{};
  if (::pipe2(ready.data(), O_CLOEXEC | O_NONBLOCK) != 0) return failure("cannot make a pipe");
  auto p = make_plan(arguments_, sockets, ready[1]);
  const auto child = ::fork();
  if (child == 0) become(program_.c_str(), p);
  const int code = errno;
  ::close(ready[1]);
  if (child < 0) {
    ::close(ready[0]);
    errno = code;
    return failure("cannot fork");
  }
  ready_ = ready[0];
  pid_ = child;
  stage_ = stage::starting;
  give_up_at_ms_ = net::loop::exact_now() + start_limit_ms;
  return std::nullopt;
}

successor::news successor::look() {
  if (stage_ == stage::none) return news::nothing;
  if (stage_ == stage::serving) {
    reap(WNOHANG);
    return stage_ == stage::none ? news::died : news::nothing;
  }
  const auto now = net::loop::exact_now();
  char word = 0;
  const auto got = ready_ >= 0 ? ::read(ready_, &word, 1) : 0;
  if (got == 1) {
    ::close(std::exchange(ready_, -1));
    stage_ = stage::serving;
    return news::serves;
  }
  if (ready_ >= 0 && got == 0) {
    ::close(std::exchange(ready_, -1));
    give_up_at_ms_ = now + end_limit_ms;
  }
  if (ready_ < 0) reap(WNOHANG);
  if (stage_ == stage::none) return news::failed;
  if (now < give_up_at_ms_) return news::nothing;
  ::kill(pid_, SIGKILL);
  reap(0);
  return news::failed;
}

void successor::stop() {
  if (pid_ > 0) ::kill(pid_, SIGTERM);
}

void successor::reap(int options) {
  int status = 0;
  if (::waitpid(pid_, &status, options) != pid_) return;
  ending_ = WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                : "exit code " + std::to_string(WEXITSTATUS(status));
  forget();
}

void successor::forget() {
  if (ready_ >= 0) ::close(std::exchange(ready_, -1));
  pid_ = -1;
  stage_ = stage::none;
}

}  // namespace penstock::cli
