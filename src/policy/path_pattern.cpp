#include <algorithm>
#include <span>

#include "base/ascii.hpp"
#include "policy/canonical_path.hpp"
#include "policy/path_index.hpp"

namespace penstock::policy {

namespace {

constexpr std::size_t segments_max = 64;

error bad_pattern(std::string_view text, std::string_view why) {
  return {errc::invalid_config, "path pattern '" + std::string(text) + "': " + std::string(why)};
}

// A literal segment in the form that requests are compared in.
result<std::string> literal(std::string_view raw, std::string_view whole, bool fold_case) {
  const paths_spec options{.fold_case = fold_case, .keep_encoded_slash = true};
  std::string canonical;
  if (const char* why = canonicalise("/" + std::string(raw), options, canonical)) {
    return bad_pattern(whole, why);
  }
  std::string scratch;
  return std::string(match_form(canonical, options, scratch).substr(1));
}

// The segment at the front of `rest` ("/a/b"), which is shortened by it.
std::string_view take_segment(std::string_view& rest) noexcept {
  const std::size_t end = rest.find('/', 1);
  const std::string_view s = rest.substr(1, end == std::string_view::npos ? end : end - 1);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end);
  return s;
}

bool segment_matches(const path_pattern::segment& s, std::string_view text) noexcept {
  return s.what != path_pattern::kind::literal || s.text == text;
}

}  // namespace

result<path_pattern> path_pattern::parse(std::string_view text, bool fold_case) {
  path_pattern p;
  if (text.empty()) {
    p.segments_.push_back({kind::any, "**"});
    p.all_ = true;
    return p;
  }
  if (text.front() != '/') return bad_pattern(text, "starts with a slash");
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view raw = take_segment(rest);
    if (raw.empty() || raw == ".") continue;
    if (raw == "..") return bad_pattern(text, "'..' cannot match: requests have none left");
    if (raw == "**") {
      if (p.segments_.empty() || p.segments_.back().what != kind::any) {
        p.segments_.push_back({kind::any, "**"});
      }
    } else if (raw == "*") {
      p.segments_.push_back({kind::one, "*"});
    } else if (raw.size() > 2 && raw.front() == '{' && raw.back() == '}' &&
               raw.find_first_of("{}*", 1) == raw.size() - 1) {
      p.segments_.push_back({kind::named, std::string(raw)});
    } else if (raw.find_first_of("{}*") != std::string_view::npos) {
      return bad_pattern(text, "*, ** and {name} stand for whole segments");
    } else {
      auto plain = literal(raw, text, fold_case);
      if (!plain) return plain.error();
      if (!plain->empty()) p.segments_.push_back({kind::literal, *std::move(plain)});
    }
  }
  if (p.segments_.size() > segments_max) return bad_pattern(text, "has more than 64 segments");
  p.all_ = p.segments_.size() == 1 && p.segments_.front().what == kind::any;
  return p;
}

path_pattern path_pattern::from(std::size_t first) const {
  path_pattern rest;
  rest.segments_.assign(segments_.begin() + static_cast<std::ptrdiff_t>(first), segments_.end());
  rest.all_ = rest.segments_.size() == 1 && rest.segments_.front().what == kind::any;
  return rest;
}

bool path_pattern::matches(std::string_view path) const noexcept {
  if (all_) return true;
  if (path == "*") return false;
  if (path == "/") path = {};
  // Greedy with one point of return: a later "**" makes an earlier one's choices irrelevant.
  std::size_t at = 0;
  std::size_t retry_at = segments_.size() + 1;
  std::string_view retry_rest;
  while (true) {
    if (at < segments_.size() && segments_[at].what == kind::any) {
      if (++at == segments_.size()) return true;
      retry_at = at;
      retry_rest = path;
      continue;
    }
    if (path.empty() && at == segments_.size()) return true;
    if (!path.empty() && at < segments_.size()) {
      std::string_view next = path;
      if (segment_matches(segments_[at], take_segment(next))) {
        path = next;
        ++at;
        continue;
      }
    }
    if (retry_at > segments_.size() || retry_rest.empty()) return false;
    (void)take_segment(retry_rest);
    path = retry_rest;
    at = retry_at;
  }
}

}  // namespace penstock::policy
