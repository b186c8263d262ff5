#include "cli/operator/terminal.hpp"

#include <array>
#include <csignal>
#include <cstdio>

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace penstock::cli {
namespace {

// Alternate screen, no cursor, no wrapping of lines; and the reverse.
constexpr std::string_view take_sequence = "\x1b[?1049h\x1b[?25l\x1b[?7l";
constexpr std::string_view give_back_sequence = "\x1b[?7h\x1b[?25h\x1b[?1049l";

void write_all(std::string_view text) {
  while (!text.empty()) {
    const auto n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0) return;  // the terminal is gone; a hang-up follows
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

sigset_t taken_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int one : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH}) sigaddset(&set, one);
  return set;
}

}  // namespace

bool terminal::present() {
  return ::isatty(STDOUT_FILENO) == 1;
}

terminal::terminal() {
  const sigset_t set = taken_signals();
  pthread_sigmask(SIG_BLOCK, &set, &mask_before_);
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  keys_ = ::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &before_) == 0;
  take();
}

terminal::~terminal() {
  give_back();
  ::close(signals_);
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void terminal::take() {
  if (keys_) {
    termios now = before_;
    now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // Ctrl-C and Ctrl-Z stay signals
    now.c_cc[VMIN] = 0;
    now.c_cc[VTIME] = 0;
    ::tcsetattr(STDIN_FILENO, TCSANOW, &now);
  }
  write_all(take_sequence);
  taken_ = true;
}

void terminal::give_back() {
  if (!taken_) return;
  taken_ = false;
  write_all(give_back_sequence);
  if (keys_) ::tcsetattr(STDIN_FILENO, TCSAFLUSH, &before_);
}

terminal::size terminal::measure() const {
  winsize w{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_row == 0 || w.ws_col == 0) return {};
  return {w.ws_row, w.ws_col};
}

void terminal::draw(const std::vector<std::string>& lines) {
  // Every line is written over and its rest cleared, so that nothing flickers.
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    text.append("\x1b[").append(std::to_string(i + 1)).append(";1H").append(lines[i]);
    text += "\x1b[K";
  }
  write_all(text + "\x1b[J");
}

std::optional<terminal::event> terminal::read_signal() {
  signalfd_siginfo got{};
  std::optional<event> told;
  while (::read(signals_, &got, sizeof got) == static_cast<ssize_t>(sizeof got)) {
    const int number = static_cast<int>(got.ssi_signo);
    if (number == SIGTSTP) stop();
    if (number == SIGTSTP || number == SIGWINCH) {
      told = event{happening::resized};
      continue;
    }
    ended_by_ = number;
    return event{happening::quit};
  }
  return told;
}

void terminal::stop() {
  give_back();
  ::raise(SIGSTOP);  // here until somebody says `fg`
  take();
}

terminal::event terminal::wait(int ms) {
  for (;;) {
    if (const auto told = read_signal()) return *told;
    std::array<pollfd, 2> of{{{signals_, POLLIN, 0}, {keys_ ? STDIN_FILENO : -1, POLLIN, 0}}};
    if (::poll(of.data(), of.size(), ms) == 0) return {};
    if (of[1].revents == 0) continue;
    char key = 0;
    if (::read(STDIN_FILENO, &key, 1) == 1) return {happening::key, key};
    return {happening::quit};  // the terminal is gone
  }
}

}  // namespace penstock::cli
