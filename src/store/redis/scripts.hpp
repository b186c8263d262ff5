// The Lua scripts, put together from scripts/*.lua: a check for exactly the algorithms of a batch,
// so that Redis runs no line that the batch does not need, and one refund. A script's SHA-1 is its
// version: another text is another script, so daemons of two versions share a Redis.
// Immutable once built at start-up; safe to share between threads.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "quota/charge.hpp"

namespace penstock::store::redis {

struct script {
  std::string text;
  std::string sha1;  // 40 hexadecimal digits, lower case
};

// The check for the algorithms of `charges`, which are at least one.
[[nodiscard]] const script& check_script(std::span<const charge> charges);
[[nodiscard]] const script& record_script();  // a check for any algorithm
[[nodiscard]] const script& refund_script();
// Those that a new connection loads: the checks of one algorithm and of all, refund and undo.
[[nodiscard]] std::span<const script* const> preloaded_scripts();
[[nodiscard]] const script& undo_script();  // a check that first takes back what was charged

// Of the board: see redis_store::post and read_board.
[[nodiscard]] const script& board_post_script();
[[nodiscard]] const script& board_read_script();

}  // namespace penstock::store::redis
