// A terminal that is drawn on in place, and given back as it was: on the alternate screen, without
// cursor, keys read one by one without echo. One at a time in a process; not thread-safe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <termios.h>

namespace penstock::cli {

class terminal {
 public:
  // Takes over the terminal on standard output, and the signals SIGINT, SIGTERM, SIGHUP, SIGQUIT,
  // SIGTSTP and SIGWINCH, until destroyed.
  terminal();
  ~terminal();
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;

  [[nodiscard]] static bool present();  // standard output is one

  struct size {
    std::size_t rows = 24, columns = 80;
  };
  [[nodiscard]] size measure() const;

  // Replaces what is shown. Precondition: no control character in the lines.
  void draw(const std::vector<std::string>& lines);

  enum class happening : unsigned char { time_over, resized, quit, key };
  struct event {
    happening what = happening::time_over;
    char key = 0;
  };
  // Waits for at most `ms`. A stop by Ctrl-Z happens within and ends with `resized`.
  [[nodiscard]] event wait(int ms);

  // Readable when wait() has a signal to tell.
  [[nodiscard]] int signals() const noexcept { return signals_; }
  // The signal that ended it; 0: none did.
  [[nodiscard]] int ended_by() const noexcept { return ended_by_; }

 private:
  void take();
  void give_back();
  [[nodiscard]] std::optional<event> read_signal();
  void stop();

  int signals_ = -1;
  int ended_by_ = 0;
  bool keys_ = false;  // standard input is a terminal too
  bool taken_ = false;
  termios before_{};
  sigset_t mask_before_{};
};

}  // namespace penstock::cli
