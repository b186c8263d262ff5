// Pieces of octets on their way to one stream: gathered, sent with one system call, and what the
// socket did not take kept for later. Only views are stored (chunk-size lines apart), so the octets
// must stay in place until the queue is empty. Bounded: `room()` says how many pieces still fit.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <string_view>

#include <sys/uio.h>

#include "net/stream.hpp"

namespace penstock::net {

class write_queue {
 public:
  static constexpr std::size_t pieces_max = 48;

  [[nodiscard]] bool empty() const noexcept { return first_ == last_; }
  [[nodiscard]] std::size_t room() const noexcept { return pieces_max - last_; }

  void add(std::string_view octets) noexcept {
    if (octets.empty()) return;
    pieces_[last_++] = {const_cast<char*>(octets.data()), octets.size()};
  }

  // One chunk of the chunked coding: takes three pieces. `octets` must not be empty.
  void add_chunk(std::string_view octets) noexcept {
    char* const line = sizes_.data() + size_lines_ * size_line_max;
    ++size_lines_;
    char* end = std::to_chars(line, line + size_line_max, octets.size(), 16).ptr;
    *end++ = '\r';
    *end++ = '\n';
    add({line, static_cast<std::size_t>(end - line)});
    add(octets);
    add("\r\n");
  }

  enum class state { sent, full, failed };
  // Sends what the stream takes now. `octets_sent` grows by it.
  state flush(stream& to, std::size_t& octets_sent) noexcept {
    while (first_ != last_) {
      const auto outcome = to.write(pieces_.data() + first_, static_cast<int>(last_ - first_));
      if (outcome.failed) return state::failed;
      octets_sent += outcome.octets;
      drop(outcome.octets);
      if (first_ != last_) {
        // A short write means a full socket; asking again would only cost a system call.
        return state::full;
      }
    }
    clear();
    return state::sent;
  }

  void clear() noexcept { first_ = last_ = size_lines_ = 0; }

 private:
  static constexpr std::size_t size_line_max = 18;  // 16 digits, CR, LF

  void drop(std::size_t octets) noexcept {
    while (first_ != last_ && octets >= pieces_[first_].iov_len) {
      octets -= pieces_[first_].iov_len;
      ++first_;
    }
    if (octets > 0) {
      pieces_[first_].iov_base = static_cast<char*>(pieces_[first_].iov_base) + octets;
      pieces_[first_].iov_len -= octets;
    }
  }

  std::array<iovec, pieces_max> pieces_;
  std::array<char, (pieces_max / 3 + 1) * size_line_max> sizes_;
  std::size_t first_ = 0;
  std::size_t last_ = 0;
  std::size_t size_lines_ = 0;
};

}  // namespace penstock::net
