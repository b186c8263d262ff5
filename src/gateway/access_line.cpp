#include "gateway/access_line.hpp"

#include <array>
#include <charconv>
#include <chrono>

#include "net/json_writer.hpp"

namespace penstock::gateway {
namespace {

void append_padded(std::string& out, std::int64_t number, std::size_t digits) {
  std::array<char, 20> text;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), number).ptr;
  const auto size = static_cast<std::size_t>(end - text.data());
  if (size < digits) out.append(digits - size, '0');
  out.append(text.data(), size);
}

// 2026-01-31T23:59:59.123456Z
void append_time(std::string& out, instant t) {
  using namespace std::chrono;
  const auto day = floor<days>(t);
  const year_month_day date(day);
  const auto within = t - day;
  append_padded(out, static_cast<int>(date.year()), 4);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.month()), 2);
  out += '-';
  append_padded(out, static_cast<unsigned>(date.day()), 2);
  out += 'T';
  append_padded(out, floor<hours>(within).count(), 2);
  out += ':';
  append_padded(out, floor<minutes>(within).count() % 60, 2);
  out += ':';
  append_padded(out, floor<seconds>(within).count() % 60, 2);
  out += '.';
  append_padded(out, within.count() % 1'000'000, 6);
  out += 'Z';
}

void append_text(std::string& out, std::string_view name, std::string_view text) {
  out += ",\"";
  out += name;
  out += "\":\"";
  net::append_json_escaped(out, text.substr(0, access_record::text_max));
  out += '"';
}

void append_number(std::string& out, std::string_view name, std::int64_t number) {
  out += ",\"";
  out += name;
  out += "\":";
  append_padded(out, number, 1);
}

void append_truth(std::string& out, std::string_view name, bool truth) {
  out += ",\"";
  out += name;
  out += truth ? "\":true" : "\":false";
}

}  // namespace

void append_access_line(const access_record& r, std::string& out) {
  out += "{\"time\":\"";
  append_time(out, r.began);
  out += '"';
  append_text(out, "client", r.client);
  append_text(out, "peer", r.peer);
  append_text(out, "method", r.method);
  append_text(out, "host", r.host);
  append_text(out, "path", r.path);
  append_number(out, "status", r.status);
  append_truth(out, "complete", r.complete);
  append_number(out, "bytes", static_cast<std::int64_t>(r.bytes));
  append_number(out, "duration_us", r.took.count());
  append_text(out, "decision", r.decision);
  append_text(out, "limit", r.limit);
  append_truth(out, "shadow_refused", r.shadow_refused);
  append_text(out, "upstream", r.upstream);
  out += "}\n";
}

}  // namespace penstock::gateway
