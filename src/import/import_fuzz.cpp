// Any bytes are either refused with a place and a remedy, or give a policy that loads, compiles and
// is the same the second time. Words that are cut and quoted again are the same words.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "config/load.hpp"
#include "import/import_nginx.hpp"
#include "import/nginx_lexer.hpp"
#include "policy/policy.hpp"

namespace {

using namespace penstock;

void require(bool ok) {
  if (!ok) std::abort();
}

std::string quoted_again(const std::vector<import::token>& tokens) {
  std::string out;
  for (const auto& t : tokens) {
    switch (t.kind) {
      case import::token_kind::word:
        out += '"';
        for (const char c : t.text) {
          if (c == '"' || c == '\\') out += '\\';
          out += c;
        }
        out += "\" ";
        break;
      case import::token_kind::semicolon:
        out += ";";
        break;
      case import::token_kind::open:
        out += "{";
        break;
      case import::token_kind::close:
        out += "}";
        break;
    }
  }
  return out;
}

void check_words(std::string_view text) {
  const auto first = import::tokenize("f", text);
  if (!first) {
    require(first.error().message.starts_with("f:"));
    return;
  }
  if (text.find("_by_lua_block") != std::string_view::npos) return;  // its body is not kept
  const auto again = import::tokenize("f", quoted_again(*first));
  if (!again)
    return require(text.size() > import::longest_word / 2);  // escapes made a word too long
  require(first->size() == again->size());
  for (std::size_t i = 0; i < first->size(); ++i) {
    require((*first)[i].kind == (*again)[i].kind && (*first)[i].text == (*again)[i].text);
  }
}

void check_import(std::string_view text, import::face face) {
  // The main file, and the same bytes as whatever it includes, so that including oneself is tried.
  const import::nginx_files files{
      .read = [&](const std::string& path) -> std::optional<std::string> {
        if (path.ends_with("missing")) return std::nullopt;
        return std::string(text);
      },
      .match = [](const std::string&) { return std::vector<std::string>{"one"}; }};
  const import::import_options options{.face_for = face};
  const auto made = import::import_nginx("nginx.conf", files, options);
  if (!made) {
    // "what: remedy" at least.
    require(made.error().message.find(": ") != std::string::npos);
    return;
  }
  const auto again = import::import_nginx("nginx.conf", files, options);
  require(again && again->text == made->text);
  const auto loaded = config::load_text("policy.yaml", made->text);
  require(loaded.ok());
  require(loaded.value.policy.limits.size() == made->limits);
  require(policy::compile(loaded.value.policy).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check_words(text);
  check_import(text, size % 2 == 0 ? import::face::gateway : import::face::decision);
  return 0;
}
