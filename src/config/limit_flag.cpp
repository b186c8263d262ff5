#include "config/limit_flag.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "config/grammar/key.hpp"
#include "config/grammar/number.hpp"
#include "config/grammar/rate.hpp"
#include "config/quota_fields.hpp"

namespace penstock::config {
namespace {

constexpr std::string_view usage =
    "KEY RATE [burst N | queue N] [ALGORITHM], for example address 10/s burst 20";

struct word_at {
  std::string_view text;
  std::size_t offset;
};

std::vector<word_at> words_of(std::string_view text) {
  std::vector<word_at> out;
  for (std::size_t i = 0; i < text.size();) {
    const auto from = text.find_first_not_of(" \t", i);
    if (from == std::string_view::npos) break;
    const auto end = std::min(text.find_first_of(" \t", from), text.size());
    out.push_back({text.substr(from, end - from), from});
    i = end;
  }
  return out;
}

// A rate is the only word that begins with a digit, or is "unlimited".
bool looks_like_rate(std::string_view word) {
  return word == "unlimited" || (word.front() >= '0' && word.front() <= '9');
}

std::string generated_name(std::string_view key, std::string_view rate) {
  std::string out;
  for (const char c : fmt::format("{}-{}", key, rate)) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (plain) {
      out += c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  constexpr std::size_t longest = 56;  // leaves room for a number within a name's 64 bytes
  out.resize(std::min(out.size(), longest));
  while (out.ends_with('-')) out.pop_back();
  return out;
}

// The words behind the rate; `places` remembers where each field stood.
struct options {
  quota_fields fields;
  std::vector<std::pair<std::string_view, std::size_t>> places;
};

std::optional<problem> read_options(const std::vector<word_at>& words, std::size_t from,
                                    std::size_t end, options& out) {
  bool algorithm_given = false;
  for (std::size_t i = from; i < words.size(); ++i) {
    const auto [word, offset] = words[i];
    if (word == "burst" || word == "queue") {
      auto& field = word == "burst" ? out.fields.burst : out.fields.queue;
      if (field) return problem{fmt::format("{} stands twice", word), std::string(usage), offset};
      if (++i == words.size()) {
        return problem{fmt::format("{} needs a number", word),
                       fmt::format("for example {} 20", word), end};
      }
      const auto n = parse_count(words[i].text);
      if (!n) {
        return problem{fmt::format("{} is not a whole number", quoted(words[i].text)),
                       fmt::format("for example {} 20", word), words[i].offset};
      }
      field = *n;
      out.places.emplace_back(word, offset);
      continue;
    }
    if (algorithm_given)
      return problem{fmt::format("{} is too much", quoted(word)), std::string(usage), offset};
    const auto kind = parse_algorithm(word);
    if (!kind) return kind.moved(offset);
    out.fields.kind = *kind;
    algorithm_given = true;
  }
  // "queue 20" can only mean the queue.
  if (!algorithm_given && out.fields.queue) out.fields.kind = algorithm::leaky_bucket;
  return std::nullopt;
}

}  // namespace

parsed<policy::limit_spec> parse_limit_flag(std::string_view text) {
  const auto words = words_of(text);
  const auto rate_word = std::find_if(words.begin(), words.end(),
                                      [](const auto& w) { return looks_like_rate(w.text); });
  if (words.empty() || rate_word == words.begin())
    return problem{"a key is missing", std::string(usage), 0};
  if (rate_word == words.end())
    return problem{"a rate is missing", std::string(usage), text.size()};

  const auto key_from = words.front().offset;
  const auto& last = *(rate_word - 1);
  auto key = parse_key(text.substr(key_from, last.offset + last.text.size() - key_from));
  if (!key) return key.moved(key_from);
  const auto r = parse_rate(rate_word->text);
  if (!r) return r.moved(rate_word->offset);

  options o;
  o.fields.rates.push_back(*r);
  const auto next = static_cast<std::size_t>(rate_word - words.begin()) + 1;
  if (auto p = read_options(words, next, text.size(), o)) return *p;

  policy::limit_spec limit;
  if (const auto problems = to_quotas(o.fields, limit.rate); !problems.empty()) {
    auto p = problems.front().what;
    p.offset = rate_word->offset;
    for (const auto& [field, offset] : o.places) {
      if (field == problems.front().field) p.offset = offset;
    }
    return p;
  }
  limit.name = generated_name(key->text, rate_word->text);
  limit.key = std::move(*key);
  return limit;
}

void make_unique_name(policy::limit_spec& limit, const std::vector<policy::limit_spec>& others) {
  const auto base = limit.name;
  const auto taken = [&] {
    return std::any_of(others.begin(), others.end(),
                       [&](const auto& o) { return o.name == limit.name; });
  };
  for (int n = 2; taken(); ++n) limit.name = fmt::format("{}-{}", base, n);
}

}  // namespace penstock::config
