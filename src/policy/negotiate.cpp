#include "policy/negotiate.hpp"

#include <algorithm>

#include "base/ascii.hpp"

namespace penstock::policy {

namespace {

// Thousandths; 0 for what is malformed, so that it is never chosen.
int parse_quality(std::string_view text) noexcept {
  if (text.empty() || (text.front() != '0' && text.front() != '1')) return 0;
  int value = (text.front() - '0') * 1000;
  if (text.size() == 1) return value;
  if (text[1] != '.' || text.size() > 5) return 0;
  int weight = 100;
  for (const char c : text.substr(2)) {
    if (!ascii::is_digit(c)) return 0;
    value += (c - '0') * weight;
    weight /= 10;
  }
  return value <= 1000 ? value : 0;
}

// Calls f(range, quality) for each element of every field called `name`.
template <class F>
void for_each_preference(field_list fields, std::string_view name, F&& f) {
  for (const field& each : fields) {
    if (!ascii::iequals(each.name, name)) continue;
    std::string_view rest = each.value;
    while (!rest.empty()) {
      std::string_view parameters = ascii::take_until(rest, ',');
      const std::string_view range = ascii::trim(ascii::take_until(parameters, ';'));
      int quality = 1000;
      while (!parameters.empty()) {
        std::string_view value = ascii::trim(ascii::take_until(parameters, ';'));
        if (ascii::iequals(ascii::take_until(value, '='), "q")) quality = parse_quality(value);
      }
      if (!range.empty()) f(range, quality);
    }
  }
}

bool covers(std::string_view range, std::string_view tag) noexcept {
  return range.size() >= tag.size() && ascii::iequals(range.substr(0, tag.size()), tag) &&
         (range.size() == tag.size() || range[tag.size()] == '-');
}

}  // namespace

bool prefers_problem_json(field_list fields) noexcept {
  int problem = 0;
  int json = -1;
  int any = 0;
  for_each_preference(fields, "accept", [&](std::string_view range, int quality) {
    if (ascii::iequals(range, "application/problem+json")) problem = std::max(problem, quality);
    if (ascii::iequals(range, "application/json")) json = std::max(json, quality);
    if (range == "*/*" || ascii::iequals(range, "application/*")) any = std::max(any, quality);
  });
  return problem > 0 && problem >= (json >= 0 ? json : any);
}

const language_text* choose_language(field_list fields,
                                     std::span<const language_text> texts) noexcept {
  const language_text* best = nullptr;
  int best_quality = 0;
  for_each_preference(fields, "accept-language", [&](std::string_view range, int quality) {
    if (quality <= best_quality) return;
    const language_text* found = nullptr;
    for (const language_text& t : texts) {
      const bool closer = found == nullptr || t.first.size() > found->first.size();
      if (closer && covers(range, t.first)) found = &t;
    }
    if (found == nullptr) return;
    best = found;
    best_quality = quality;
  });
  return best;
}

}  // namespace penstock::policy
