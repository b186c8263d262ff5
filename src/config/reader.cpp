#include "config/reader.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "config/grammar/duration.hpp"
#include "config/grammar/number.hpp"
#include "config/grammar/size.hpp"
#include "config/suggest.hpp"

namespace penstock::config {
namespace {

std::string_view description(const node& n) {
  switch (n.what) {
    case node::type::null:
      return "nothing";
    case node::type::scalar:
      return "a single value";
    case node::type::sequence:
      return "a list";
    case node::type::map:
      return "a map";
    case node::type::refused:
      break;
  }
  return "";
}

void fail_kind(const value& v, std::string_view expected) {
  if (v.raw().what == node::type::refused) return;
  v.fail(fmt::format("expected {}, found {}", expected, description(v.raw())));
}

}  // namespace

value value::child(const node& n, std::string_view key) const {
  return {*context_, n, path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key)};
}

value value::item(std::size_t i) const {
  return {*context_, node_->items[i], fmt::format("{}[{}]", path_, i)};
}

std::optional<value> value::find(std::string_view key) const {
  for (const auto& [name, n] : node_->entries) {
    if (name.text == key) return child(n, key);
  }
  return std::nullopt;
}

void value::fail(std::string message, std::string hint) const {
  context_->issues.push_back({.level = severity::error,
                              .file = context_->file,
                              .at = node_->at,
                              .path = path_,
                              .message = std::move(message),
                              .hint = std::move(hint)});
}

void value::fail(const problem& p) const {
  fail(p.message, p.hint);
  context_->issues.back().secret = p.secret;
  if (node_->literal && !p.secret) context_->issues.back().at.column += static_cast<int>(p.offset);
}

const std::string* value::text(std::string_view expected) const {
  if (node_->what == node::type::scalar) return &node_->text;
  fail_kind(*this, expected);
  return nullptr;
}

bool read_map(const value& v, std::span<const bound_field> fields) {
  if (v.raw().what != node::type::map) {
    fail_kind(v, "a map");
    return false;
  }
  std::vector<std::string_view> known;
  for (const auto& f : fields) known.push_back(f.about->key);
  for (const auto& [key, n] : v.raw().entries) {
    const auto f = std::find(known.begin(), known.end(), key.text);
    if (f != known.end()) {
      fields[static_cast<std::size_t>(f - known.begin())].read(v.child(n, key.text));
      continue;
    }
    v.child(key, quoted(key.text).size() == key.text.size() + 2 ? key.text : quoted(key.text))
        .fail("unknown key",
              key.text == "<<" ? "merge keys are not accepted" : suggest(key.text, known));
  }
  for (const auto& f : fields) {
    const bool missing = f.about->fallback == required &&
                         std::none_of(v.raw().entries.begin(), v.raw().entries.end(),
                                      [&](const auto& e) { return e.first.text == f.about->key; });
    if (missing) v.child(v.raw(), f.about->key).fail("is missing", std::string(f.about->text));
  }
  return true;
}

void read_bool(const value& v, bool& out) {
  static constexpr word<bool> words[] = {{"true", true}, {"false", false}};
  read_word(v, words, out);
}

void read_integer(const value& v, std::int64_t least, std::int64_t most, std::int64_t& out) {
  const auto* text = v.text("a whole number");
  if (text == nullptr) return;
  const auto n = parse_count(*text);
  if (!n) {
    v.fail(fmt::format("{} is not a whole number", quoted(*text)),
           fmt::format("{} to {}", least, most));
  } else if (*n < least || *n > most) {
    v.fail(fmt::format("{} is out of range", *n), fmt::format("{} to {}", least, most));
  } else {
    out = *n;
  }
}

void read_integer(const value& v, int least, int most, int& out) {
  std::int64_t wide = out;
  read_integer(v, std::int64_t{least}, std::int64_t{most}, wide);
  out = static_cast<int>(wide);
}

void read_size(const value& v, std::int64_t least, std::int64_t most, std::int64_t& out) {
  std::int64_t bytes = 0;
  if (!read_with(v, parse_size, "a size", bytes)) return;
  if (bytes < least || bytes > most) {
    return v.fail(fmt::format("{} is out of range", size_text(bytes)),
                  fmt::format("{} to {}", size_text(least), size_text(most)));
  }
  out = bytes;
}

void read_duration(const value& v, duration least, duration most, duration& out) {
  duration d{};
  if (!read_with(v, parse_duration, "a duration", d)) return;
  if (d < least || d > most) {
    return v.fail(fmt::format("{} is out of range", to_text(d)),
                  fmt::format("{} to {}", to_text(least), to_text(most)));
  }
  out = d;
}

void read_string(const value& v, std::string& out) {
  const auto* text = v.text("a text");
  if (text == nullptr) return;
  if (text->empty()) return v.fail("must not be empty");
  const bool control = std::any_of(text->begin(), text->end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
  if (control) return v.fail("holds a control character", "one line without tabs");
  out = *text;
}

void fail_unknown_word(const value& v, std::string_view text,
                       std::span<const std::string_view> known) {
  v.fail(fmt::format("{} is not known here", quoted(text)), suggest(text, known));
}

void read_sequence(const value& v, std::string_view expected,
                   const std::function<void(const value&)>& each) {
  if (v.raw().what != node::type::sequence) return fail_kind(v, expected);
  for (std::size_t i = 0; i < v.raw().items.size(); ++i) each(v.item(i));
}

void read_one_or_more(const value& v, std::string_view expected,
                      const std::function<void(const value&)>& each) {
  if (v.raw().what == node::type::scalar) return each(v);
  read_sequence(v, expected, each);
  if (v.raw().what == node::type::sequence && v.raw().items.empty()) v.fail("the list is empty");
}

}  // namespace penstock::config
