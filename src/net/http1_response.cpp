#include "net/http1.hpp"
#include "net/http1_fields.hpp"
#include "net/http1_octets.hpp"

namespace penstock::net::http1 {

namespace {

// HTTP-version SP 3DIGIT SP [reason]. The space before an absent reason may be missing too: common,
// and it changes nothing. Returns nullptr or what is wrong.
const char* parse_status_line(std::string_view line, response_head& out) noexcept {
  const bool version = line.size() >= 12 && line.starts_with("HTTP/1.") &&
                       is(line[7], octet::digit) && line[8] == ' ';
  if (!version || span_of(line.substr(9, 3), octet::digit) != 3) {
    return "a status line that is not version and status";
  }
  const int status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  if (status < 100 || status > 599) return "a status outside 100 to 599";
  if (line.size() > 12 && line[12] != ' ') return "a status that is not three digits";
  out.version_minor = line[7] == '0' ? 0 : 1;
  out.status = status;
  out.reason = line.size() > 12 ? line.substr(13) : std::string_view{};
  return nullptr;
}

bool without_body(int status, std::string_view request_method) noexcept {
  return request_method == "HEAD" || status < 200 || status == 204 || status == 304;
}

const char* conclude(const message_facts& facts, std::string_view request_method,
                     response_head& out) noexcept {
  if (const char* wrong = facts.check(out.version_minor)) return wrong;
  out.content_length = facts.content_length;
  out.keep_alive = facts.persistent(out.version_minor);
  if (without_body(out.status, request_method)) {
    out.body = framing::none;
  } else if (facts.chunked) {
    out.body = framing::chunked;
  } else if (facts.has_content_length) {
    out.body = framing::content_length;
  } else {
    out.body = framing::until_close;
    out.keep_alive = false;
  }
  return nullptr;
}

const char* parse_fields(std::string_view text, std::size_t count, std::string_view request_method,
                         response_head& out) {
  out.fields.clear();
  out.fields.reserve(count);
  message_facts facts;
  while (!text.empty()) {
    const std::size_t end = text.find('\r');  // the scan has seen to it that an LF follows
    field f;
    const std::string_view line = text.substr(0, end);
    if (const char* wrong = parse_field_line(line, space_before_colon::removed, f)) return wrong;
    if (const char* wrong = facts.add(kind_of(f.name), f.value)) return wrong;
    out.fields.push_back(f);
    text.remove_prefix(end + 2);
  }
  return conclude(facts, request_method, out);
}

const char* scan_refusal(head_scan::event e) noexcept {
  switch (e) {
    case head_scan::event::line_too_long:
      return "a status line over the limit";
    case head_scan::event::head_too_long:
      return "a head over the limit";
    case head_scan::event::too_many_fields:
      return "more fields than the limit";
    case head_scan::event::empty_lines:
      return "an empty line before a response";
    default:
      return "a control octet, or a CR or LF that is not part of CRLF";
  }
}

}  // namespace

parse_status response_parser::parse(std::string_view buffer, std::string_view request_method,
                                    response_head& out) {
  const auto refuse = [this](const char* reason) {
    error_ = {.status = 502, .reason = reason};
    return parse_status::bad;
  };
  bool have_line = false;  // parsed in this call, so that its views are good
  for (;;) {
    std::string_view line;
    const head_scan::event event = scan_.next(buffer, limits_, line);
    if (event == head_scan::event::need_more) return parse_status::need_more;
    if (event == head_scan::event::line) {
      if (scan_.lines() > 1) continue;
      if (const char* wrong = parse_status_line(line, out)) return refuse(wrong);
      have_line = true;
      continue;
    }
    if (event != head_scan::event::end) return refuse(scan_refusal(event));
    break;
  }
  consumed_ = scan_.consumed();
  const std::size_t begin = scan_.fields_begin();
  if (!have_line) {
    // The buffer may have moved since the line was accepted: take the views again.
    const std::size_t at = scan_.head_begin();
    const std::string_view line = buffer.substr(at, begin - 2 - at);
    if (const char* wrong = parse_status_line(line, out)) return refuse(wrong);
  }
  const std::string_view lines = buffer.substr(begin, consumed_ - 2 - begin);
  if (const char* wrong = parse_fields(lines, scan_.lines() - 1, request_method, out)) {
    return refuse(wrong);
  }
  return parse_status::complete;
}

void response_parser::reset() noexcept {
  scan_.reset();
  consumed_ = 0;
  error_ = {.status = 502, .reason = ""};
}

}  // namespace penstock::net::http1
