// Any body is either a change that keeps the contract or an error with a sentence; its audit line
// is one line of JSON that gives the texts back.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include <boost/json/src.hpp>

#include "admin/change.hpp"
#include "admin/query.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace penstock::admin;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  constexpr std::string_view required[] = {"key"},
                             optional_members[] = {"limit", "for", "reason", "quota"};
  (void)query_value(body, "key");
  const auto c = read_change(body, required, optional_members);
  if (!c) {
    if (c.error().message.empty()) std::abort();
    return 0;
  }
  if (c->key.empty() || c->key.size() > 256 || (c->lasts && c->lasts->count() <= 0)) std::abort();
  const auto line = audit_line({.at = {}, .action = "ban", .peer = "p", .what = &*c, .error = {}});
  for (const char ch : line) {
    if (static_cast<unsigned char>(ch) < 0x20) std::abort();
  }
  boost::system::error_code failed;
  const auto read = boost::json::parse(line, failed);
  if (failed || read.at("key").as_string() != c->key) std::abort();
  return 0;
}
