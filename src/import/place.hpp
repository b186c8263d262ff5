// Where something stands in an nginx configuration, and what can be wrong there. Plain values.
#pragma once

#include <string>
#include <string_view>

#include <penstock/result.hpp>

namespace penstock::import {

struct place {
  std::string file;  // as shown to people: relative to the folder of the main file
  int line = 0;      // from 1

  [[nodiscard]] std::string text() const { return file + ":" + std::to_string(line); }
  friend bool operator==(const place&, const place&) = default;
};

// "nginx.conf:12: what: remedy", always with a place and a remedy.
[[nodiscard]] inline error fault(const place& at, std::string_view what, std::string_view remedy) {
  return {errc::invalid_config, at.text() + ": " + std::string(what) + ": " + std::string(remedy)};
}

// Text of a configuration for messages and comments: ASCII in one line, at most 120 octets.
[[nodiscard]] inline std::string shown(std::string_view text) {
  constexpr std::size_t longest = 120;
  constexpr std::string_view hex = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    if (out.size() >= longest) return out + "...";
    if (c >= ' ' && c <= '~') {
      out += c;
    } else {
      const auto octet = static_cast<unsigned char>(c);
      out += {'\\', 'x', hex[octet >> 4U], hex[octet & 15U]};
    }
  }
  return out;
}

}  // namespace penstock::import
