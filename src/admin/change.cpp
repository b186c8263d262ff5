#include "admin/change.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include <boost/json.hpp>

#include "config/grammar/duration.hpp"
#include "net/json_writer.hpp"

namespace penstock::admin {
namespace {

constexpr std::size_t text_max = 256;

error wrong(std::string message) {
  return {errc::invalid_argument, std::move(message)};
}

std::string named(std::string_view member) {
  return "\"" + std::string(member) + "\"";
}

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::string* text_member(change& c, std::string_view name) {
  if (name == "limit") return &c.limit;
  if (name == "key") return &c.key;
  if (name == "quota") return &c.quota;
  if (name == "reason") return &c.reason;
  return nullptr;
}

}  // namespace

result<change> read_change(std::string_view body, std::span<const std::string_view> required,
                           std::span<const std::string_view> optional) {
  boost::system::error_code failed;
  boost::json::parse_options strict;
  strict.max_depth = 4;
  const auto parsed = boost::json::parse(body, failed, {}, strict);
  if (failed || !parsed.is_object()) return wrong("the body must be one JSON object");

  change out;
  for (const auto& member : parsed.get_object()) {
    const std::string_view name = member.key();
    if (!contains(required, name) && !contains(optional, name)) {
      return wrong("this change has no member " + named(name.substr(0, 40)));
    }
    if (!member.value().is_string()) return wrong(named(name) + " must be a text");
    const std::string_view text = member.value().get_string();
    if (text.empty() || text.size() > text_max) {
      return wrong(named(name) + " must have 1 to 256 characters");
    }
    if (std::string* const to = text_member(out, name)) {
      to->assign(text);
    } else {
      const auto lasts = config::parse_duration(text);
      if (!lasts) return wrong(named(name) + ": " + lasts.error().message);
      if (lasts->count() <= 0) return wrong(named(name) + " must be longer than 0");
      out.lasts = *lasts;
    }
  }
  for (const std::string_view name : required) {
    if (!parsed.get_object().contains(name)) return wrong(named(name) + " is missing");
  }
  return out;
}

std::string audit_line(const audit_entry& e) {
  std::string line;
  net::json_writer w(line);
  w.begin_object().member("audit", e.action).member("at", iso_time(e.at)).member("peer", e.peer);
  if (e.what != nullptr) {
    for (const auto& [name, text] :
         {std::pair{"limit", &e.what->limit}, std::pair{"key", &e.what->key},
          std::pair{"quota", &e.what->quota}, std::pair{"reason", &e.what->reason}}) {
      if (!text->empty()) w.member(name, *text);
    }
    if (e.what->lasts) w.member("for", config::to_text(*e.what->lasts));
  }
  w.member("outcome", e.error.empty() ? "done" : "failed");
  if (!e.error.empty()) w.member("error", e.error);
  w.end_object();
  return line;
}

std::string iso_time(instant t) {
  const auto day = std::chrono::floor<std::chrono::days>(t);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss time(std::chrono::floor<std::chrono::seconds>(t - day));
  std::array<char, 40> text;
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(time.hours().count()),
                static_cast<int>(time.minutes().count()), static_cast<int>(time.seconds().count()));
  return text.data();
}

}  // namespace penstock::admin
