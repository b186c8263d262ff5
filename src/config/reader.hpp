// Reading a tree into structs by tables: every key has a name, a type, a default, a sentence and a
// function. One table is the reader, the list for "did you mean", and the reference page.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <penstock/clock.hpp>

#include "config/document.hpp"
#include "config/grammar/parsed.hpp"
#include "config/issue.hpp"

namespace penstock::config {

// One key as people read about it.
struct field_doc {
  std::string_view key;
  std::string_view type;      // "duration", "list of addresses", "one of a, b"
  std::string_view fallback;  // the default as one would write it; "required"; "none"
  std::string_view text;      // one or two sentences
};

inline constexpr std::string_view required = "required";

// What all values of one load share.
struct read_context {
  const std::string& file;
  std::vector<issue>& issues;
};

// A node on its way into a struct: knows its path and where to report. Lives during one load.
class value {
 public:
  value(read_context& context, const node& n, std::string path)
      : context_(&context), node_(&n), path_(std::move(path)) {}

  [[nodiscard]] const node& raw() const noexcept { return *node_; }
  [[nodiscard]] policy::place at() const noexcept { return node_->at; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] value child(const node& n, std::string_view key) const;
  [[nodiscard]] value item(std::size_t i) const;

  // The value of `key` when this is a map that has it.
  [[nodiscard]] std::optional<value> find(std::string_view key) const;

  void fail(std::string message, std::string hint = {}) const;
  // Points into a scalar as far as its text stands in the file as it is.
  void fail(const problem& p) const;

  // The scalar's text, or nullptr after reporting that `expected` was.
  [[nodiscard]] const std::string* text(std::string_view expected) const;

 private:
  read_context* context_;
  const node* node_;
  std::string path_;
};

// A table row; T is the struct that the key is read into.
template <class T>
struct field {
  field_doc about;
  void (*read)(const value& v, T& out);
};

// A row with its target, so that one map can fill several structs.
struct bound_field {
  const field_doc* about;
  std::function<void(const value&)> read;
};

template <class T>
void bind(std::vector<bound_field>& to, std::span<const field<T>> table, T& out) {
  for (const auto& row : table) {
    to.push_back({&row.about, [&row, &out](const value& v) { row.read(v, out); }});
  }
}

// Reads a map. Unknown keys and missing required keys are reported. False when it is no map.
bool read_map(const value& v, std::span<const bound_field> fields);

template <class T>
bool read_map(const value& v, std::type_identity_t<std::span<const field<T>>> table, T& out) {
  std::vector<bound_field> fields;
  bind(fields, table, out);
  return read_map(v, fields);
}

// Each reads one value into `out`, or reports and leaves `out` alone.
void read_bool(const value& v, bool& out);
void read_integer(const value& v, std::int64_t least, std::int64_t most, std::int64_t& out);
void read_integer(const value& v, int least, int most, int& out);
void read_size(const value& v, std::int64_t least, std::int64_t most, std::int64_t& out);  // bytes
void read_duration(const value& v, duration least, duration most, duration& out);
void read_string(const value& v, std::string& out);  // not empty, no control characters

template <class T>
struct word {
  std::string_view name;
  T meaning;
};

void fail_unknown_word(const value& v, std::string_view text,
                       std::span<const std::string_view> known);

template <class T, std::size_t N>
void read_word(const value& v, const word<T> (&words)[N], T& out) {
  const auto* text = v.text("a word");
  if (text == nullptr) return;
  std::string_view names[N];
  for (std::size_t i = 0; i < N; ++i) {
    if (words[i].name == *text) {
      out = words[i].meaning;
      return;
    }
    names[i] = words[i].name;
  }
  fail_unknown_word(v, *text, names);
}

// Any grammar/*.hpp parser. True when `out` was set.
template <class T, class Out>
bool read_with(const value& v, parsed<T> (*parse)(std::string_view), std::string_view expected,
               Out& out) {
  const auto* text = v.text(expected);
  if (text == nullptr) return false;
  auto p = parse(*text);
  if (!p) {
    v.fail(p.error());
    return false;
  }
  out = std::move(*p);
  return true;
}

// Calls `each` for every item of a sequence, or for the value itself when it is a single scalar.
void read_one_or_more(const value& v, std::string_view expected,
                      const std::function<void(const value&)>& each);
// Calls `each` for every item of a sequence; anything else is reported.
void read_sequence(const value& v, std::string_view expected,
                   const std::function<void(const value&)>& each);

}  // namespace penstock::config
