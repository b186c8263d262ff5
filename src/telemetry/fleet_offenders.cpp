#include "telemetry/fleet_offenders.hpp"

#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <utility>

namespace penstock::telemetry {
namespace {

constexpr std::string_view head = "penstock-offenders 1\n";
// Of the keys of one summary: six of them and their heads fit into a text.
constexpr std::size_t summary_text_max = 5'000;
constexpr std::size_t limit_text_max = 256;
// Sums of as many as a store can hold stay far from overflow.
constexpr std::uint64_t count_max = std::uint64_t{1} << 53U;

void append(std::string& out, std::uint64_t n, char end) {
  out += std::to_string(std::min(n, count_max));
  out += end;
}

std::string row_text(const named_count& k) {
  std::string row;
  append(row, k.at_least, ' ');
  append(row, k.at_most, ' ');
  append(row, k.limit.size(), ' ');
  append(row, k.key.size(), ' ');
  row.append(k.limit).append(k.key).append("\n");
  return row;
}

void write(std::string& out, const named_summary& s) {
  std::vector<const named_count*> order;
  for (const named_count& k : s.keys) order.push_back(&k);
  std::ranges::stable_sort(order, std::ranges::greater{}, &named_count::at_most);
  std::string rows;
  std::size_t n = 0;
  std::uint64_t floor = s.floor;
  for (const named_count* k : order) {
    const std::string row = row_text(*k);
    if (n == offenders_keys_max || rows.size() + row.size() > summary_text_max ||
        k->limit.size() > limit_text_max || k->key.size() > key_text_max) {
      floor = std::max(floor, k->at_most);
      break;
    }
    rows += row;
    ++n;
  }
  append(out, s.total, ' ');
  append(out, floor, ' ');
  append(out, n, '\n');
  out += rows;
}

class text_reader {
 public:
  explicit text_reader(std::string_view text) : left_(text) {}

  bool number(std::uint64_t& out, std::uint64_t most, char end) {
    const auto [at, failed] = std::from_chars(left_.data(), left_.data() + left_.size(), out);
    if (failed != std::errc{} || out > most) return false;
    left_.remove_prefix(static_cast<std::size_t>(at - left_.data()));
    return skip({&end, 1});
  }
  bool text(std::string& out, std::uint64_t size) {
    if (size > left_.size()) return false;
    out = left_.substr(0, size);
    left_.remove_prefix(size);
    return true;
  }
  bool skip(std::string_view expected) {
    if (!left_.starts_with(expected)) return false;
    left_.remove_prefix(expected.size());
    return true;
  }
  [[nodiscard]] bool at_end() const noexcept { return left_.empty(); }

 private:
  std::string_view left_;
};

bool read(text_reader& from, named_summary& s) {
  std::uint64_t n = 0;
  if (!from.number(s.total, count_max, ' ') || !from.number(s.floor, count_max, ' ') ||
      !from.number(n, offenders_keys_max, '\n')) {
    return false;
  }
  s.keys.resize(n);
  for (named_count& k : s.keys) {
    std::uint64_t limit = 0, key = 0;
    const bool good = from.number(k.at_least, count_max, ' ') &&
                      from.number(k.at_most, count_max, ' ') && k.at_least <= k.at_most &&
                      from.number(limit, limit_text_max, ' ') &&
                      from.number(key, key_text_max, ' ') && from.text(k.limit, limit) &&
                      from.text(k.key, key) && from.skip("\n");
    if (!good) return false;
  }
  return true;
}

}  // namespace

named_summary named(const offender_report& r, const limit_slots& slots) {
  named_summary out{.keys = {}, .total = r.total, .floor = r.floor};
  std::unordered_map<slot, std::string> names;
  for (const key_count& k : r.top) {
    const auto [at, fresh] = names.try_emplace(k.limit);
    if (fresh) at->second = slots.label(k.limit).name;
    out.keys.push_back({at->second, k.key, k.at_least, k.at_most});
  }
  return out;
}

std::string write_offenders(const process_offenders& of) {
  std::string out(head);
  for (const auto& ranking : of) {
    for (const named_summary& s : ranking) write(out, s);
  }
  return out;
}

std::optional<process_offenders> read_offenders(std::string_view text) {
  if (text.size() > offenders_text_max) return std::nullopt;
  text_reader from(text);
  if (!from.skip(head)) return std::nullopt;
  process_offenders out;
  for (auto& ranking : out) {
    for (named_summary& s : ranking) {
      if (!read(from, s)) return std::nullopt;
    }
  }
  if (!from.at_end()) return std::nullopt;
  return out;
}

named_summary merged(const std::vector<named_summary>& all, std::size_t n) {
  // Ids are numbers given out here, so that no two keys can share one.
  std::unordered_map<std::string, std::uint64_t> ids;
  std::vector<const named_count*> texts;
  std::vector<key_summary> parts;
  for (const named_summary& s : all) {
    key_summary& part = parts.emplace_back();
    part.total = s.total;
    part.floor = s.floor;
    std::unordered_map<std::uint64_t, std::size_t> at;
    for (const named_count& k : s.keys) {
      const auto id =
          ids.try_emplace(std::to_string(k.limit.size()) + " " + k.limit + k.key, ids.size());
      if (id.second) texts.push_back(&k);
      // One limit before and after a change of it has one name.
      const auto place = at.try_emplace(id.first->second, part.keys.size());
      if (place.second) part.keys.push_back({.id = id.first->second, .limit = no_slot, .key = {}});
      key_count& sum = part.keys[place.first->second];
      sum.at_least += k.at_least;
      sum.at_most += k.at_most;
    }
  }
  // In pairs: the work is that of a few passes however many there are.
  for (std::size_t step = 1; step < parts.size(); step *= 2) {
    for (std::size_t i = 0; i + step < parts.size(); i += 2 * step) {
      parts[i].merge(parts[i + step], SIZE_MAX);
      parts[i + step] = {};
    }
  }
  named_summary out;
  if (parts.empty()) return out;
  out.total = parts[0].total;
  out.floor = parts[0].floor;
  for (const key_count& k : parts[0].top(n)) {
    out.keys.push_back({texts[k.id]->limit, texts[k.id]->key, k.at_least, k.at_most});
  }
  return out;
}

}  // namespace penstock::telemetry
