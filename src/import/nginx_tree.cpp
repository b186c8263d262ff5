#include "import/nginx_tree.hpp"

#include <algorithm>

namespace penstock::import {
namespace {

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash + 1);
}

class reader {
 public:
  reader(std::string prefix, const nginx_files& files)
      : prefix_(std::move(prefix)), files_(files) {}

  result<nginx_tree> run(const std::string& path) {
    const auto text = files_.read(path);
    if (!text) {
      return error{errc::io, shown(path) +
                                 ": cannot be read: name the main nginx.conf, in a "
                                 "folder that this user may read"};
    }
    std::vector<directive> top;
    if (auto ok = read_text(path, *text, 0, 0, top); !ok) return ok.error();
    out_.top = std::move(top);
    return std::move(out_);
  }

 private:
  [[nodiscard]] std::string name_for_people(const std::string& path) const {
    return shown(path.starts_with(prefix_) ? path.substr(prefix_.size()) : path);
  }

  result<bool> read_text(const std::string& path, const std::string& text, int block, int include,
                         std::vector<directive>& to) {
    const std::string file = name_for_people(path);
    size_ += text.size();
    if (size_ > largest_text) {
      return fault({file, 1}, "the configuration is larger than 16 MiB",
                   "import the part with the limits, or take large maps out");
    }
    auto tokens = tokenize(file, text);
    if (!tokens) return tokens.error();
    std::size_t at = 0;
    if (auto ok = read_block(file, *tokens, at, block, include, to); !ok) return ok;
    if (at < tokens->size()) {
      return fault({file, (*tokens)[at].line}, "unexpected \"}\"", "remove it, or open its block");
    }
    return true;
  }

  // Directives up to the closing brace, which is left, or the end of the file.
  result<bool> read_block(const std::string& file, std::vector<token>& tokens, std::size_t& at,
                          int block, int include, std::vector<directive>& to) {
    while (at < tokens.size() && tokens[at].kind != token_kind::close) {
      directive d;
      d.at = {file, tokens[at].line};
      if (tokens[at].kind != token_kind::word) {
        return fault(d.at,
                     tokens[at].kind == token_kind::open ? "unexpected \"{\"" : "unexpected \";\"",
                     "a directive has to stand before it");
      }
      if (++count_ > most_directives) {
        return fault(d.at, "more than 200000 directives",
                     "import the part with the limits, or take large maps out");
      }
      d.name = std::move(tokens[at++].text);
      while (at < tokens.size() && tokens[at].kind == token_kind::word)
        d.args.push_back(std::move(tokens[at++].text));
      if (at == tokens.size() || tokens[at].kind == token_kind::close) {
        return fault(d.at, "\"" + shown(d.name) + "\" is not finished", "end it with ; or a block");
      }
      d.block = tokens[at++].kind == token_kind::open;
      if (d.block) {
        if (block == deepest_block) {
          return fault(d.at, "blocks are nested deeper than 64", "is a closing brace missing?");
        }
        if (auto ok = read_block(file, tokens, at, block + 1, include, d.children); !ok) return ok;
        if (at == tokens.size()) {
          return fault(d.at, "the block of \"" + shown(d.name) + "\" is never closed",
                       "add } where it ends");
        }
        ++at;
      } else if (d.name == "include") {
        if (auto ok = read_include(d, block, include, to); !ok) return ok;
        continue;
      }
      to.push_back(std::move(d));
    }
    return true;
  }

  result<bool> read_include(const directive& d, int block, int include,
                            std::vector<directive>& to) {
    if (d.args.size() != 1) {
      return fault(d.at, "\"include\" takes one file or pattern", "write include FILE;");
    }
    if (include == deepest_include) {
      return fault(d.at, "includes are nested deeper than 16", "does a file include itself?");
    }
    const std::string& written = d.args[0];
    const std::string path = written.starts_with('/') ? written : prefix_ + written;
    if (path.find_first_of("*?[") != std::string::npos) {
      for (const auto& one : files_.match(path)) {
        if (auto ok = include_file(d, one, block, include, to); !ok) return ok;
      }
      return true;
    }
    return include_file(d, path, block, include, to);
  }

  result<bool> include_file(const directive& d, const std::string& path, int block, int include,
                            std::vector<directive>& to) {
    const auto text = files_.read(path);
    if (!text) {
      out_.missing.push_back({d.at, path});
      return true;
    }
    return read_text(path, *text, block, include + 1, to);
  }

  std::string prefix_;
  const nginx_files& files_;
  nginx_tree out_;
  std::size_t size_ = 0;
  std::size_t count_ = 0;
};

bool needs_quotes(const std::string& word) {
  return word.empty() || word.find_first_of(" \t\r\n;{}\"'#") != std::string::npos;
}

}  // namespace

std::string directive::text() const {
  std::string out = name;
  for (const auto& arg : args) {
    out += ' ';
    out += needs_quotes(arg) ? "\"" + arg + "\"" : arg;
  }
  return shown(out);
}

result<nginx_tree> read_nginx(const std::string& path, const std::string& prefix,
                              const nginx_files& files) {
  std::string folder = prefix.empty() ? folder_of(path) : prefix;
  if (!folder.empty() && !folder.ends_with('/')) folder += '/';
  return reader(std::move(folder), files).run(path);
}

}  // namespace penstock::import
