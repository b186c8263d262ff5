#include "policy/key.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "policy/canonical_path.hpp"
#include "policy/request_values.hpp"

namespace penstock::policy {

namespace {

constexpr std::size_t longest_plain = 64;

bool stands_as_is(std::string_view value) noexcept {
  return !value.empty() && value.size() <= longest_plain &&
         std::all_of(value.begin(), value.end(),
                     [](char c) { return ascii::is_alnum(c) || c == '.' || c == '_' || c == '-'; });
}

// ':' before text, '#' before a digest: a value that looks like a digest is never taken for one.
void append_digest(std::string& out, const sha256_digest& digest) {
  out.push_back('#');
  append_hex(out, digest);
}

void append_value(std::string& out, std::string_view value, bool may_show) {
  if (may_show && stands_as_is(value)) {
    out.push_back(':');
    out.append(value);
  } else {
    append_digest(out, sha256(value));
  }
}

std::string_view kind_name(key_kind kind) noexcept {
  switch (kind) {
    case key_kind::global:
      return "*";
    case key_kind::address:
      return "address";
    case key_kind::api_key:
      return "api_key";
    case key_kind::user:
      return "user";
    case key_kind::route:
      return "route";
    case key_kind::method:
      return "method";
    case key_kind::host:
      return "host";
    case key_kind::header:
      return "header";
    case key_kind::query:
      return "query";
    case key_kind::cookie:
      return "cookie";
    case key_kind::constant:
      return "constant";
  }
  return "";
}

bool is_named(key_kind kind) noexcept {
  return kind == key_kind::header || kind == key_kind::query || kind == key_kind::cookie;
}

void append_address(std::string& out, const key_facts& facts) {
  const bool v4 = facts.client.is_v4();
  const int prefix = v4 ? facts.prefixes.ipv4_prefix : facts.prefixes.ipv6_prefix;
  out.append("address:");
  facts.client.masked(prefix).append_to(out);
  if (prefix == (v4 ? 32 : 128)) return;
  out.push_back('/');
  if (prefix >= 100) out.push_back('1');
  if (prefix >= 10) out.push_back(static_cast<char>('0' + prefix / 10 % 10));
  out.push_back(static_cast<char>('0' + prefix % 10));
}

// The path with the pattern's {names} in place of what they matched, so that "/users/1" and
// "/users/2" are one route "/users/{id}".
void write_route(std::string& out, std::string_view path,
                 const std::vector<path_pattern::segment>& pattern) {
  for (const path_pattern::segment& s : pattern) {
    if (s.what == path_pattern::kind::any || path.size() < 2) break;
    const std::size_t end = std::min(path.find('/', 1), path.size());
    if (s.what == path_pattern::kind::named) {
      out.push_back('/');
      out.append(s.text);
    } else {
      out.append(path.substr(0, end));
    }
    path.remove_prefix(end);
  }
  out.append(path);
}

// What follows "user:" or "header(X-A):"; absent when the text states another part.
std::optional<std::string_view> value_of(std::string_view stated, std::string_view kind,
                                         std::string_view name, bool fold) {
  if (!stated.starts_with(kind)) return std::nullopt;
  stated.remove_prefix(kind.size());
  if (!name.empty()) {
    if (stated.size() < name.size() + 2 || stated[0] != '(' || stated[name.size() + 1] != ')') {
      return std::nullopt;
    }
    const std::string_view given = stated.substr(1, name.size());
    if (fold ? !ascii::iequals(given, name) : given != name) return std::nullopt;
    stated.remove_prefix(name.size() + 2);
  }
  if (!stated.starts_with(':') || stated.size() == 1) return std::nullopt;
  return stated.substr(1);
}

}  // namespace

result<limit_key> limit_key::create(const limit_spec& limit, const path_pattern& pattern) {
  limit_key key;
  key.on_missing_ = limit.on_missing_key;
  for (const std::vector<key_part>& written : limit.key.alternatives) {
    alternative parts;
    for (const key_part& w : written) {
      part p{w.kind, w.show, w.name, std::string(kind_name(w.kind))};
      if (is_named(w.kind)) {
        if (w.name.empty()) {
          return error{errc::invalid_config, "key: " + p.prefix + "() needs a name"};
        }
        std::string name = w.name;
        if (w.kind == key_kind::header) {
          std::transform(name.begin(), name.end(), name.begin(), ascii::lower);
        }
        p.prefix += "(";
        if (stands_as_is(name)) {
          p.prefix += name;
        } else {
          append_digest(p.prefix, sha256(name));
        }
        p.prefix += ")";
      }
      key.signature_ += p.prefix + (p.show ? "!" : "");
      if (p.kind == key_kind::constant) append_value(key.signature_, p.name, true);
      key.signature_ += "+";
      parts.push_back(std::move(p));
    }
    if (parts.empty()) return error{errc::invalid_config, "key: an alternative is empty"};
    key.signature_ += "|";
    key.alternatives_.push_back(std::move(parts));
  }
  if (key.alternatives_.empty()) return error{errc::invalid_config, "key: is empty"};
  key.signature_ += std::to_string(static_cast<int>(key.on_missing_));
  if (key.uses(key_kind::route)) {
    key.route_ = pattern.segments();
    if (limit.shared_route) key.shared_route_ = limit.match.path.empty() ? "/**" : limit.match.path;
    key.signature_ += key.shared_route_ + " ";
    for (const auto& s : key.route_) key.signature_ += "/" + s.text;
  }
  return key;
}

bool limit_key::uses(key_kind kind) const noexcept {
  return std::any_of(alternatives_.begin(), alternatives_.end(), [&](const alternative& parts) {
    return std::any_of(parts.begin(), parts.end(), [&](const part& p) { return p.kind == kind; });
  });
}

key_outcome limit_key::append_part(std::string& out, const part& p, const key_facts& facts,
                                   std::string& scratch) const {
  found_value found;
  switch (p.kind) {
    case key_kind::global:
      out.push_back('*');
      return key_outcome::written;
    case key_kind::address:
      append_address(out, facts);
      return key_outcome::written;
    case key_kind::api_key:
      if (!facts.who.api_key) return key_outcome::missing;
      out.append(p.prefix);
      append_digest(out, *facts.who.api_key);
      return key_outcome::written;
    case key_kind::route:
      scratch.clear();
      if (shared_route_.empty()) write_route(scratch, facts.path, route_);
      out.append(p.prefix);
      append_value(out, shared_route_.empty() ? scratch : shared_route_, true);
      return key_outcome::written;
    case key_kind::constant:
      out.append(p.prefix);
      append_value(out, p.name, true);
      return key_outcome::written;
    case key_kind::user:
      found = {occurs::once, facts.who.user};
      break;
    case key_kind::method:
      found = {occurs::once, facts.request.method};
      break;
    case key_kind::host:
      found = {occurs::once, facts.host};
      break;
    case key_kind::header:
      found = find_field(facts.request.fields, p.name);
      break;
    case key_kind::query:
      found = find_query(facts.request.query, p.name, scratch);
      break;
    case key_kind::cookie:
      found = find_cookie(facts.request.fields, p.name);
      break;
  }
  if (found.how == occurs::repeatedly) return key_outcome::repeated;
  if (found.value.empty()) return key_outcome::missing;
  out.append(p.prefix);
  append_value(out, found.value, p.show || !is_named(p.kind));
  return key_outcome::written;
}

bool limit_key::append_stated_part(std::string& out, const part& p, std::string_view value,
                                   const reading& how, identity& who) const {
  request_view request;
  address client;
  std::string path;
  std::string host;
  std::string scratch;
  switch (p.kind) {
    case key_kind::header:
    case key_kind::query:
    case key_kind::cookie:
      out.append(p.prefix);
      append_value(out, value, p.show);
      return true;
    case key_kind::address: {
      const auto read = address::parse(value);
      if (!read) return false;
      client = *read;
      break;
    }
    case key_kind::api_key:
      who.api_key = sha256(value);
      break;
    case key_kind::user:
      who.user = value;
      break;
    case key_kind::method:
      request.method = value;
      break;
    case key_kind::host:
      append_host(host, value);
      break;
    case key_kind::route:
      if (shared_route_.empty() && canonicalise(value, how.paths, path) != nullptr) return false;
      break;
    case key_kind::global:
    case key_kind::constant:
      break;
  }
  std::string matched;
  const key_facts facts{request, who, client, how.prefixes, match_form(path, how.paths, matched),
                        host};
  return append_part(out, p, facts, scratch) == key_outcome::written;
}

bool limit_key::append_stated(std::string& out, std::span<const std::string> parts,
                              const reading& how, identity& who) const {
  const std::size_t start = out.size();
  for (const alternative& wanted : alternatives_) {
    out.resize(start);
    who = {};
    std::size_t used = 0;
    bool fits = true;
    for (const part& p : wanted) {
      if (out.size() != start) out.push_back('+');
      std::optional<std::string_view> value;
      for (std::size_t i = 0; i < parts.size() && !value; ++i) {
        const bool named = is_named(p.kind);
        value = value_of(parts[i], kind_name(p.kind), named ? p.name : std::string_view{},
                         p.kind == key_kind::header);
      }
      const bool fixed = p.kind == key_kind::global || p.kind == key_kind::constant ||
                         (p.kind == key_kind::route && !shared_route_.empty());
      if (value && !fixed) ++used;
      fits = (fixed || value) && append_stated_part(out, p, value.value_or(""), how, who);
      if (!fits) break;
    }
    if (fits && used == parts.size()) return true;
  }
  out.resize(start);
  return false;
}

// `fill`: a missing part is replaced as on_missing_key says.
key_outcome limit_key::append_all(std::string& out, const alternative& parts, bool fill,
                                  const key_facts& facts, std::string& scratch) const {
  const std::size_t start = out.size();
  for (const part& p : parts) {
    if (out.size() != start) out.push_back('+');
    key_outcome did = append_part(out, p, facts, scratch);
    if (did == key_outcome::missing && fill) {
      if (on_missing_ == missing_key::address) {
        append_address(out, facts);
      } else {
        out.append(p.prefix).push_back(':');  // no value is empty: this is nobody's key
      }
      did = key_outcome::written;
    }
    if (did != key_outcome::written) {
      out.resize(start);
      return did;
    }
  }
  return key_outcome::written;
}

key_outcome limit_key::append(std::string& out, const key_facts& facts,
                              std::string& scratch) const {
  for (const alternative& parts : alternatives_) {
    const key_outcome did = append_all(out, parts, false, facts, scratch);
    if (did != key_outcome::missing) return did;
  }
  switch (on_missing_) {
    case missing_key::skip:
      return key_outcome::missing;
    case missing_key::deny:
      return key_outcome::denied;
    case missing_key::address:
    case missing_key::shared:
      break;
  }
  return append_all(out, alternatives_.back(), true, facts, scratch);
}

}  // namespace penstock::policy
