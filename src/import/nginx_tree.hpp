// An nginx configuration as a tree of directives, with its `include`s put in place. Bounded in
// depth, size and number, because it may be anybody's file.
// Files are asked for through `nginx_files`, so that the tree itself is made without I/O.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "import/nginx_lexer.hpp"

namespace penstock::import {

struct directive {
  std::string name;
  std::vector<std::string> args;
  std::vector<directive> children;  // of a block
  bool block = false;
  place at;

  // As it would be written, for comments.
  [[nodiscard]] std::string text() const;
};

struct nginx_files {
  // The file's text; nullopt: it cannot be read.
  std::function<std::optional<std::string>(const std::string& path)> read;
  // Paths of the files that a pattern with * ? [ ] matches, sorted; may be empty.
  std::function<std::vector<std::string>(const std::string& pattern)> match;
};

// An include that names a file which cannot be read.
struct missing_file {
  place at;
  std::string path;  // as written
};

struct nginx_tree {
  std::vector<directive> top;
  std::vector<missing_file> missing;
};

inline constexpr int deepest_include = 16;
inline constexpr int deepest_block = 64;
inline constexpr std::size_t largest_text = 16U << 20;  // of all files together
inline constexpr std::size_t most_directives = 200'000;

// `prefix`: the folder that relative includes stand in; empty: the folder of `path`, as nginx has
// it. Errors: invalid_config with place and remedy; io when `path` itself cannot be read.
[[nodiscard]] result<nginx_tree> read_nginx(const std::string& path, const std::string& prefix,
                                            const nginx_files& files);

}  // namespace penstock::import
