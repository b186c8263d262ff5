#include "import/nginx_cases.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "import/nginx_values.hpp"

namespace penstock::import {
namespace {

constexpr int longest_chain = 8;

bool is_regex(const variable_case& c) {
  return c.pattern.starts_with('~');
}

condition condition_for(const std::string& variable, const variable_case& c) {
  const std::string& value = c.pattern;
  if (is_regex(c)) return {condition_kind::other, {}, "$" + variable + " matches " + shown(value)};
  if (value.empty()) return {condition_kind::absent, variable, {}};
  if (variable == "remote_addr") {
    if (const auto range = parse_range(value); range && value.find('/') == std::string::npos)
      return {condition_kind::address, {}, *range};
  }
  if (variable == "request_method") return {condition_kind::method, {}, value};
  if (const auto header = header_of(variable); !header.empty())
    return {condition_kind::header, header, value};
  return {condition_kind::other, {}, "$" + variable + " is " + shown(value)};
}

variable_cases follow(const nginx_model& model, const std::string& name, int depth);

variable_cases geo_cases(const variable_block& v) {
  variable_cases out;
  out.fallback = v.fallback;
  if (v.source != "$remote_addr" && v.source != "$realip_remote_addr") {
    out.problem = "its geo block looks up " + shown(v.source) + " instead of the client's address";
  }
  if (!v.unknown.empty()) out.problem = "its geo block uses " + v.unknown;
  for (const auto& c : v.cases) {
    std::vector<std::string> ranges;
    if (v.ranges) {
      ranges = split_range(c.pattern);
    } else if (const auto range = parse_range(c.pattern)) {
      ranges.push_back(*range);
    }
    if (ranges.empty()) {
      out.cases.push_back(
          {{condition_kind::other, {}, "the address is in " + shown(c.pattern)}, c.value});
    }
    for (auto& r : ranges)
      out.cases.push_back({{condition_kind::address, {}, std::move(r)}, c.value});
  }
  return out;
}

// What a map makes of a value that its source can have.
const std::string* look_up(const variable_block& v, const std::string& value) {
  for (const auto& c : v.cases) {
    if (!is_regex(c) && ascii::iequals(c.pattern, value)) return &c.value;
  }
  return std::any_of(v.cases.begin(), v.cases.end(), is_regex) ? nullptr : &v.fallback;
}

variable_cases map_of_block(const nginx_model& model, const variable_block& v,
                            const std::string& source, int depth) {
  const auto inner = follow(model, source, depth + 1);
  variable_cases out;
  out.problem = inner.problem;
  const auto made = [&](const std::string& value) -> std::string {
    const auto pieces = pieces_of(value);
    const bool literal =
        std::none_of(pieces.begin(), pieces.end(), [](const piece& p) { return p.variable; });
    const auto* found = literal ? look_up(v, value) : nullptr;
    if (found != nullptr) return *found;
    out.problem = "its map over $" + source + " cannot be followed";
    return {};
  };
  out.fallback = made(inner.fallback);
  for (const auto& c : inner.cases) out.cases.push_back({c.when, made(c.value)});
  return out;
}

variable_cases follow(const nginx_model& model, const std::string& name, int depth) {
  const auto at = model.variables.find(name);
  if (at == model.variables.end() || depth > longest_chain) {
    variable_cases lost;
    lost.problem = "$" + name + " cannot be followed";
    return lost;
  }
  const variable_block& v = at->second;
  if (v.geo) return geo_cases(v);
  const auto pieces = pieces_of(v.source);
  if (pieces.size() != 1 || !pieces[0].variable || !v.unknown.empty()) {
    variable_cases lost;
    lost.problem = v.unknown.empty() ? "its map looks up " + shown(v.source) + ", not one variable"
                                     : "its map uses " + v.unknown;
    return lost;
  }
  const std::string& source = pieces[0].text;
  if (model.variables.contains(source)) return map_of_block(model, v, source, depth);
  variable_cases out;
  out.fallback = v.fallback;
  for (const auto& c : v.cases) out.cases.push_back({condition_for(source, c), c.value});
  return out;
}

}  // namespace

std::string condition::text() const {
  switch (kind) {
    case condition_kind::address:
      return "the address is in " + value;
    case condition_kind::header:
      return "the header " + name + " has a certain value";  // which may be a secret
    case condition_kind::method:
      return "the method is " + shown(value);
    case condition_kind::absent:
      return "$" + name + " is empty";
    case condition_kind::other:
      break;
  }
  return value;
}

variable_cases cases_of(const nginx_model& model, const std::string& name) {
  return follow(model, name, 0);
}

std::string header_of(const std::string& variable) {
  if (variable == "content_type") return "Content-Type";
  if (variable == "content_length") return "Content-Length";
  if (!variable.starts_with("http_") || variable.size() == 5) return {};
  std::string out;
  for (const char c : variable.substr(5)) {
    if (c == '_') {
      out += '-';
    } else {
      const bool first = out.empty() || out.back() == '-';
      out += first && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
  }
  return out;
}

}  // namespace penstock::import
