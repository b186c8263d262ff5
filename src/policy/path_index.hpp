// Which limits a request may concern: all path patterns and hosts of a policy in one index.
//
// A trie over path segments per host pattern, its edges in one hash table: a look-up follows the
// request's own segments and visits only nodes whose prefix matches, so limits that do not match
// cost nothing, however many there are. Immutable once built and safe to share.
//
// Patterns: "/a/*/b" (one segment), "/users/{id}" (one segment, named), "/api/**" (any number,
// none included), also in the middle; wildcards are whole segments. Every matching pattern is
// reported, not only the most specific one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <penstock/result.hpp>

namespace penstock::policy {

// A path pattern cut into segments. "" and "/**" match every path, also "*" of OPTIONS.
class path_pattern {
 public:
  enum class kind : std::uint8_t { literal, one, named, any };
  struct segment {
    kind what = kind::literal;
    std::string text;  // literal: in match form; named: with its braces
  };

  // `fold_case`: compare in lower case. Errors: invalid_config (no leading slash, a wildcard inside
  // a segment, an ambiguous path, more than 64 segments).
  [[nodiscard]] static result<path_pattern> parse(std::string_view text, bool fold_case);

  // Whether `path`, in match form, matches. Linear in the path for each "**".
  [[nodiscard]] bool matches(std::string_view path) const noexcept;
  [[nodiscard]] bool matches_all() const noexcept { return all_; }
  [[nodiscard]] const std::vector<segment>& segments() const noexcept { return segments_; }
  // The pattern of the segments from `first` on.
  [[nodiscard]] path_pattern from(std::size_t first) const;

 private:
  std::vector<segment> segments_;
  bool all_ = false;
};

class path_index {
 public:
  path_index();

  // Adds `limit` for `pattern` under `host`: "" for every host, "*.example.com" for one or more
  // labels before it, else exactly that host; lower case.
  void add(std::string_view host, const path_pattern& pattern, std::uint32_t limit);

  // Appends every limit whose host and pattern match, unordered, perhaps twice. `path` in match
  // form; `host` lower case without port, may be empty. Allocates only to grow `out`.
  void find(std::string_view host, std::string_view path, std::vector<std::uint32_t>& out) const;

  [[nodiscard]] bool uses_hosts() const noexcept { return !hosts_.empty(); }

 private:
  struct tail {
    path_pattern pattern;  // what follows the common prefix, from its first "**" on
    std::uint32_t limit;
  };
  struct node {
    std::vector<std::uint32_t> here;   // the path ends here
    std::vector<std::uint32_t> below;  // "**" at the end: here or anywhere below
    std::vector<tail> tails;           // "**" in the middle
    std::uint32_t one = 0;             // child for "*"; 0: none (0 is a root, never a child)
    bool has_literals = false;
  };
  struct edge {
    std::uint32_t from = 0;
    std::uint32_t to = 0;  // 0: free slot
    std::string text;
  };
  struct text_hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const noexcept {
      return std::hash<std::string_view>{}(s);
    }
  };

  [[nodiscard]] std::uint32_t child(std::uint32_t from, std::string_view text) const noexcept;
  std::uint32_t add_child(std::uint32_t from, std::string_view text);
  void grow();
  void visit(std::uint32_t at, std::string_view rest, std::vector<std::uint32_t>& out) const;
  std::uint32_t root_of(std::string_view host);

  std::vector<node> nodes_;  // 0: the root for every host
  std::vector<edge> edges_;  // open addressing, a power of two
  std::size_t edge_count_ = 0;
  std::unordered_map<std::string, std::uint32_t, text_hash, std::equal_to<>> hosts_;
  bool has_wildcard_hosts_ = false;
};

}  // namespace penstock::policy
