#include "cli/file_watch.hpp"

#include <algorithm>
#include <utility>

namespace penstock::cli {

bool file_watch::look::operator==(const look& other) const {
  return exists == other.exists && device == other.device && inode == other.inode &&
         size == other.size && modified.tv_sec == other.modified.tv_sec &&
         modified.tv_nsec == other.modified.tv_nsec;
}

file_watch::look file_watch::look_at(const std::string& file) {
  struct stat s {};
  // Follows links: what counts is the file at their end.
  if (stat(file.c_str(), &s) != 0) return {};
  return {true, s.st_dev, s.st_ino, s.st_size, s.st_mtim};
}

std::vector<file_watch::look> file_watch::look_at_all() const {
  std::vector<look> all;
  all.reserve(files_.size());
  for (const auto& file : files_) all.push_back(look_at(file));
  return all;
}

void file_watch::begin_reading() {
  accepted_ = look_at_all();
  previous_ = accepted_;
}

// What was accepted of a file before it was read stays: it may have changed since.
void file_watch::watch(std::vector<std::string> files) {
  std::vector<look> looks;
  looks.reserve(files.size());
  for (const auto& file : files) {
    const auto known = std::ranges::find(files_, file);
    looks.push_back(known == files_.end()
                        ? look_at(file)
                        : accepted_[static_cast<std::size_t>(known - files_.begin())]);
  }
  files_ = std::move(files);
  accepted_ = std::move(looks);
  previous_ = accepted_;
}

bool file_watch::changed() {
  auto now = look_at_all();
  const bool settled = now == previous_;
  previous_ = std::move(now);
  if (!settled || previous_ == accepted_) return false;
  accepted_ = previous_;
  return true;
}

}  // namespace penstock::cli
