#include "policy/path_index.hpp"

#include <cstring>

namespace penstock::policy {

namespace {

// Not keyed: the table holds only what the policy's author wrote, requests never add to it.
std::uint64_t hash_edge(std::uint32_t from, std::string_view text) noexcept {
  constexpr std::uint64_t k = 0x9e3779b97f4a7c15ULL;
  std::uint64_t h = (from + 1) * k ^ text.size();
  while (text.size() >= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data(), 8);
    h = (h ^ word) * k;
    h ^= h >> 29;
    text.remove_prefix(8);
  }
  std::uint64_t word = 0;
  std::memcpy(&word, text.data(), text.size());
  h = (h ^ word) * k;
  return h ^ (h >> 32);
}

}  // namespace

path_index::path_index() : nodes_(1), edges_(16) {}

std::uint32_t path_index::child(std::uint32_t from, std::string_view text) const noexcept {
  const std::size_t mask = edges_.size() - 1;
  for (std::size_t i = hash_edge(from, text) & mask;; i = (i + 1) & mask) {
    const edge& e = edges_[i];
    if (e.to == 0) return 0;
    if (e.from == from && e.text == text) return e.to;
  }
}

void path_index::grow() {
  std::vector<edge> old(edges_.size() * 2);
  old.swap(edges_);
  const std::size_t mask = edges_.size() - 1;
  for (edge& e : old) {
    if (e.to == 0) continue;
    std::size_t i = hash_edge(e.from, e.text) & mask;
    while (edges_[i].to != 0) i = (i + 1) & mask;
    edges_[i] = std::move(e);
  }
}

std::uint32_t path_index::add_child(std::uint32_t from, std::string_view text) {
  if (const std::uint32_t found = child(from, text)) return found;
  if (++edge_count_ * 2 > edges_.size()) grow();
  const std::size_t mask = edges_.size() - 1;
  std::size_t i = hash_edge(from, text) & mask;
  while (edges_[i].to != 0) i = (i + 1) & mask;
  const auto to = static_cast<std::uint32_t>(nodes_.size());
  edges_[i] = {from, to, std::string(text)};
  nodes_.emplace_back();
  nodes_[from].has_literals = true;
  return to;
}

std::uint32_t path_index::root_of(std::string_view host) {
  if (host.empty()) return 0;
  if (host.starts_with("*.")) {
    has_wildcard_hosts_ = true;
    host.remove_prefix(1);  // ".example.com": no exact host starts with a dot
  }
  const auto [at, added] =
      hosts_.try_emplace(std::string(host), static_cast<std::uint32_t>(nodes_.size()));
  if (added) nodes_.emplace_back();
  return at->second;
}

void path_index::add(std::string_view host, const path_pattern& pattern, std::uint32_t limit) {
  std::uint32_t at = root_of(host);
  const auto& segments = pattern.segments();
  for (std::size_t i = 0; i < segments.size(); ++i) {
    switch (segments[i].what) {
      case path_pattern::kind::literal:
        at = add_child(at, segments[i].text);
        break;
      case path_pattern::kind::one:
      case path_pattern::kind::named:
        if (nodes_[at].one == 0) {
          nodes_[at].one = static_cast<std::uint32_t>(nodes_.size());
          nodes_.emplace_back();
        }
        at = nodes_[at].one;
        break;
      case path_pattern::kind::any:
        if (i + 1 == segments.size()) {
          nodes_[at].below.push_back(limit);
        } else {
          nodes_[at].tails.push_back({pattern.from(i), limit});
        }
        return;
    }
  }
  nodes_[at].here.push_back(limit);
}

void path_index::visit(std::uint32_t at, std::string_view rest,
                       std::vector<std::uint32_t>& out) const {
  const node& n = nodes_[at];
  out.insert(out.end(), n.below.begin(), n.below.end());
  for (const tail& t : n.tails) {
    if (t.pattern.matches(rest)) out.push_back(t.limit);
  }
  if (rest.empty()) {
    out.insert(out.end(), n.here.begin(), n.here.end());
    return;
  }
  if (!n.has_literals && n.one == 0) return;
  const std::size_t end = rest.find('/', 1);
  const std::string_view segment = rest.substr(1, end == std::string_view::npos ? end : end - 1);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end);
  if (n.has_literals) {
    if (const std::uint32_t next = child(at, segment)) visit(next, rest, out);
  }
  if (n.one != 0) visit(n.one, rest, out);
}

void path_index::find(std::string_view host, std::string_view path,
                      std::vector<std::uint32_t>& out) const {
  const bool asterisk = path == "*";  // only patterns for every path concern it
  if (path == "/") path = {};
  const auto visit_root = [&](std::uint32_t root) {
    if (asterisk) {
      out.insert(out.end(), nodes_[root].below.begin(), nodes_[root].below.end());
    } else {
      visit(root, path, out);
    }
  };
  visit_root(0);
  if (hosts_.empty() || host.empty() || host.front() == '.') return;  // '.': no host, but a suffix
  if (const auto exact = hosts_.find(host); exact != hosts_.end()) visit_root(exact->second);
  if (!has_wildcard_hosts_) return;
  for (std::size_t dot = host.find('.', 1); dot != std::string_view::npos;
       dot = host.find('.', dot + 1)) {
    const auto suffix = hosts_.find(host.substr(dot));
    if (suffix != hosts_.end()) visit_root(suffix->second);
  }
}

}  // namespace penstock::policy
