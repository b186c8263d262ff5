#include "store/redis/scripts.hpp"

#include <array>
#include <initializer_list>
#include <string_view>

#include <openssl/evp.h>

#include "store/redis/lua_parts.hpp"

namespace penstock::store::redis {
namespace {

constexpr std::size_t algorithms = 5;
constexpr std::size_t sets_of_algorithms = 1U << algorithms;
constexpr unsigned all_algorithms = sets_of_algorithms - 1;

unsigned bit(algorithm a) {
  return 1U << static_cast<unsigned>(a);
}

std::string sha1_hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr);
  constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned i = 0; i < size; ++i) {
    hex.push_back(digits[digest[i] >> 4U]);
    hex.push_back(digits[digest[i] & 15U]);
  }
  return hex;
}

script assemble(unsigned set, std::initializer_list<std::string_view> bodies) {
  script s;
  s.text = lua::prelude;
  if ((set & (bit(algorithm::token_bucket) | bit(algorithm::leaky_bucket))) != 0) {
    s.text += lua::schedule;
  }
  if ((set & bit(algorithm::token_bucket)) != 0) s.text += lua::token_bucket;
  if ((set & bit(algorithm::leaky_bucket)) != 0) s.text += lua::leaky_bucket;
  if ((set & (bit(algorithm::fixed_window) | bit(algorithm::sliding_window_log) |
              bit(algorithm::sliding_window_counter))) != 0) {
    s.text += lua::window;
  }
  if ((set & bit(algorithm::fixed_window)) != 0) s.text += lua::fixed_window;
  if ((set & bit(algorithm::sliding_window_counter)) != 0) s.text += lua::sliding_window_counter;
  if ((set & bit(algorithm::sliding_window_log)) != 0) s.text += lua::sliding_window_log;
  for (const std::string_view part : bodies) s.text += part;
  s.sha1 = sha1_hex(s.text);
  return s;
}

std::array<script, sets_of_algorithms> assemble_checks() {
  std::array<script, sets_of_algorithms> scripts;
  for (unsigned set = 1; set < sets_of_algorithms; ++set) {
    scripts[set] = assemble(set, {lua::check});
  }
  return scripts;
}

const std::array<script, sets_of_algorithms>& checks() {
  static const std::array<script, sets_of_algorithms> scripts = assemble_checks();
  return scripts;
}

}  // namespace

const script& check_script(std::span<const charge> charges) {
  unsigned set = 0;
  for (const charge& c : charges) set |= bit(c.what->quota.source.kind);
  return checks()[set];
}

const script& record_script() {
  return checks()[all_algorithms];
}

const script& refund_script() {
  static const script s = assemble(all_algorithms, {lua::refunds, lua::refund});
  return s;
}

const script& undo_script() {
  static const script s = assemble(all_algorithms, {lua::refunds, lua::check});
  return s;
}

const script& board_post_script() {
  static const script s{std::string(lua::board_post), sha1_hex(lua::board_post)};
  return s;
}

const script& board_read_script() {
  static const script s{std::string(lua::board_read), sha1_hex(lua::board_read)};
  return s;
}

std::span<const script* const> preloaded_scripts() {
  static const auto scripts = [] {
    std::array<const script*, algorithms + 3> all{};
    for (std::size_t i = 0; i < algorithms; ++i) all[i] = &checks()[std::size_t{1} << i];
    all[algorithms] = &refund_script();
    all[algorithms + 1] = &undo_script();
    all[algorithms + 2] = &record_script();
    return all;
  }();
  return scripts;
}

}  // namespace penstock::store::redis
