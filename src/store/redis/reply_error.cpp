#include "store/redis/reply_error.hpp"

#include <charconv>

namespace penstock::store::redis {
namespace {

struct word_row {
  std::string_view word;
  error_kind kind;
};

constexpr word_row words[] = {
    {"NOSCRIPT", error_kind::no_script},
    {"MOVED", error_kind::moved},
    {"ASK", error_kind::ask},
    {"TRYAGAIN", error_kind::try_again},
    {"READONLY", error_kind::not_master},
    {"MASTERDOWN", error_kind::not_master},
    {"LOADING", error_kind::busy},
    {"BUSY", error_kind::busy},
    {"CLUSTERDOWN", error_kind::busy},
    {"NOREPLICAS", error_kind::busy},
    {"MISCONF", error_kind::busy},
    {"OOM", error_kind::busy},
    {"NOAUTH", error_kind::refused},
    {"WRONGPASS", error_kind::refused},
    {"NOPERM", error_kind::refused},
};

error_kind kind_of_word(std::string_view word) noexcept {
  for (const word_row& row : words) {
    if (row.word == word) return row.kind;
  }
  return error_kind::other;
}

std::string_view next_word(std::string_view& text) noexcept {
  const std::size_t end = text.find(' ');
  const std::string_view word = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return word;
}

}  // namespace

error_kind classify_error(std::string_view text) noexcept {
  std::string_view rest = text;
  const error_kind kind = kind_of_word(next_word(rest));
  if (kind != error_kind::other || !text.starts_with("ERR ")) return kind;
  if (rest.starts_with("max number of clients")) return error_kind::busy;
  if (rest.starts_with("invalid password")) return error_kind::refused;
  // Redis 6: "ERR Error running script (call to f_…): @user_script: 8: -READONLY You can't …".
  for (const word_row& row : words) {
    for (std::size_t at = rest.find(row.word); at != std::string_view::npos;
         at = rest.find(row.word, at + 1)) {
      const std::size_t end = at + row.word.size();
      if (at >= 2 && rest.substr(at - 2, 2) == " -" && end < rest.size() && rest[end] == ' ') {
        return row.kind;
      }
    }
  }
  return error_kind::other;
}

redirection parse_redirection(std::string_view text) noexcept {
  redirection r;
  next_word(text);
  const std::string_view slot = next_word(text);
  const std::string_view address = next_word(text);
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return r;
  int number = -1;
  std::uint16_t port = 0;
  const std::string_view port_text = address.substr(colon + 1);
  if (std::from_chars(slot.data(), slot.data() + slot.size(), number).ec != std::errc{} ||
      number < 0 || number > 16'383) {
    return r;
  }
  if (std::from_chars(port_text.data(), port_text.data() + port_text.size(), port).ec !=
          std::errc{} ||
      port == 0) {
    return r;
  }
  r.slot = number;
  r.host = address.substr(0, colon);
  if (r.host.size() > 2 && r.host.front() == '[') r.host = r.host.substr(1, r.host.size() - 2);
  r.port = port;
  return r;
}

}  // namespace penstock::store::redis
