// Notices that files have changed by looking at them, whatever way they were changed: written in
// place, renamed over, removed and made anew, or swapped behind a symbolic link as Kubernetes does.
// A change counts once it has settled, so that a file is not read while it is being written; a file
// that was read half-written anyway changes again.
#pragma once

#include <string>
#include <vector>

#include <sys/stat.h>

namespace penstock::cli {

class file_watch {
 public:
  // The files are about to be read: what they are now is what changed() compares with.
  void begin_reading();
  // Which files from now on. Those that were watched before are compared with what they were then,
  // so that a change between reading and this call is not missed; new ones with what they are now.
  void watch(std::vector<std::string> files);

  // To be called a few times a second. True when some file differs from what begin_reading(),
  // watch() or the last true answer saw, and has not changed since the previous call.
  bool changed();

 private:
  struct look {
    bool exists = false;
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    timespec modified{};
    bool operator==(const look& other) const;
  };
  static look look_at(const std::string& file);
  [[nodiscard]] std::vector<look> look_at_all() const;

  std::vector<std::string> files_;
  std::vector<look> accepted_, previous_;
};

}  // namespace penstock::cli
