#include "config/load.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "config/consistency.hpp"
#include "config/document.hpp"
#include "config/sections/sections.hpp"

namespace penstock::config {

load_result load_text(std::string name, std::string_view text) {
  load_result out;
  out.value.file = std::move(name);
  const auto root = parse_document(out.value.file, text, out.issues);
  if (text.size() <= largest_document) out.source = std::string(text);
  if (!root) return out;
  if (root->what == node::type::null) {
    out.issues.push_back(
        {.file = out.value.file, .message = "the file is empty", .hint = "begin with version: 1"});
    return out;
  }
  read_context context{out.value.file, out.issues};
  read_root(value(context, *root, {}), out.value);
  // What follows from a value that could not be read is not worth a second message.
  if (!has_errors(out.issues)) check_consistency(out.value, out.issues);
  sort_by_place(out.issues);
  return out;
}

load_result load_file(const std::string& path) {
  const auto refuse = [&](std::string message, std::string hint) {
    load_result out;
    out.value.file = path;
    out.issues.push_back({.file = path, .message = std::move(message), .hint = std::move(hint)});
    return out;
  };
  struct closer {
    void operator()(std::FILE* f) const noexcept {
      if (f != stdin) std::fclose(f);
    }
  };
  const std::unique_ptr<std::FILE, closer> file(path == "-" ? stdin
                                                            : std::fopen(path.c_str(), "rb"));
  if (!file) return refuse(fmt::format("cannot be opened: {}", std::strerror(errno)), {});
  std::string text;
  std::string buffer(64 << 10, '\0');
  while (const auto n = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    text.append(buffer, 0, n);
    if (text.size() > largest_document) break;  // parse_document says so
  }
  if (std::ferror(file.get()) != 0)
    return refuse(fmt::format("cannot be read: {}", std::strerror(errno)), {});
  return load_text(path, text);
}

}  // namespace penstock::config
