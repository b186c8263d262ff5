#include "base/ascii.hpp"
#include "net/http1.hpp"
#include "net/http1_fields.hpp"
#include "net/http1_octets.hpp"
#include "net/http1_target.hpp"

namespace penstock::net::http1 {

namespace {

// Longer than any registered method (UPDATEREDIRECTREF has 17 octets).
constexpr std::size_t method_max = 32;

parse_error refusal(int status, const char* reason) noexcept {
  return {.status = status, .reason = reason};
}

constexpr parse_error accepted{.status = 0, .reason = ""};

// "HTTP/" DIGIT "." DIGIT. A higher minor version is read as 1.1 (RFC 9110 2.5).
parse_error parse_version(std::string_view text, int& minor) noexcept {
  if (text.size() != 8 || !text.starts_with("HTTP/") || !is(text[5], octet::digit) ||
      text[6] != '.' || !is(text[7], octet::digit)) {
    return refusal(400, "a request line that is not method, target and version");
  }
  if (text[5] != '1') return refusal(505, "a major version other than 1");
  minor = text[7] == '0' ? 0 : 1;
  return accepted;
}

parse_error parse_request_line(std::string_view line, request_head& out) noexcept {
  const std::size_t method_size = span_of(line, octet::token);
  if (method_size == 0 || method_size == line.size() || line[method_size] != ' ') {
    return refusal(400, "a request line that does not start with a method and one space");
  }
  const std::size_t last = line.rfind(' ');
  if (last == method_size) return refusal(400, "a request line without target or version");
  out.method = line.substr(0, method_size);
  const std::string_view target = line.substr(method_size + 1, last - method_size - 1);
  if (parse_error e = parse_version(line.substr(last + 1), out.version_minor); e.status != 0)
    return e;
  if (out.method.size() > method_max) return refusal(501, "a method longer than any known one");
  if (out.method == "CONNECT" || out.method == "TRACE") {
    return refusal(501, "a method that is not served");
  }
  if (const char* wrong = parse_target(out.method, target, out)) return refusal(400, wrong);
  return accepted;
}

struct request_fields {
  message_facts facts;
  std::string_view host;
  bool has_host = false;
  bool expects_continue = false;
  bool expects_other = false;

  const char* add(const field& f) noexcept {
    const field_kind kind = kind_of(f.name);
    if (kind == field_kind::other) return nullptr;
    if (kind == field_kind::host) {
      if (has_host) return "more than one Host";
      if (!is_authority(f.value)) return "a Host that is not host and port";
      host = f.value;
      has_host = true;
      return nullptr;
    }
    if (kind == field_kind::expect) {
      (ascii::iequals(f.value, "100-continue") ? expects_continue : expects_other) = true;
      return nullptr;
    }
    return facts.add(kind, f.value);
  }
};

// Concludes from the fields; `out` has its request line already.
parse_error conclude(const request_fields& seen, request_head& out) noexcept {
  const message_facts& facts = seen.facts;
  if (const char* wrong = facts.check(out.version_minor)) return refusal(400, wrong);
  if (!seen.has_host && out.version_minor >= 1) return refusal(400, "HTTP/1.1 without Host");
  // HTTP/1.0 has no expectations and no upgrade: both are ignored there (RFC 9110 7.8, 10.1.1).
  if (seen.expects_other && out.version_minor >= 1) {
    return refusal(417, "an expectation other than 100-continue");
  }
  if (out.authority.empty()) out.authority = seen.host;
  out.content_length = facts.content_length;
  out.body = facts.chunked              ? framing::chunked
             : facts.has_content_length ? framing::content_length
                                        : framing::none;
  out.keep_alive = facts.persistent(out.version_minor);
  const bool body_follows = facts.chunked || facts.content_length > 0;
  out.expect_continue = seen.expects_continue && body_follows && out.version_minor >= 1;
  out.upgrade = facts.upgrade_option && facts.upgrade_field && out.version_minor >= 1;
  return accepted;
}

// `text` is the field lines, each with its CRLF; `count` how many.
parse_error parse_fields(std::string_view text, std::size_t count, request_head& out) {
  out.fields.clear();
  out.fields.reserve(count);
  request_fields seen;
  while (!text.empty()) {
    const std::size_t end = text.find('\r');  // the scan has seen to it that an LF follows
    field f;
    const std::string_view line = text.substr(0, end);
    if (const char* wrong = parse_field_line(line, space_before_colon::refused, f)) {
      return refusal(400, wrong);
    }
    if (const char* wrong = seen.add(f)) return refusal(400, wrong);
    out.fields.push_back(f);
    text.remove_prefix(end + 2);
  }
  return conclude(seen, out);
}

parse_error scan_refusal(head_scan::event e) noexcept {
  switch (e) {
    case head_scan::event::line_too_long:
      return refusal(414, "a request line over the limit");
    case head_scan::event::head_too_long:
      return refusal(431, "a head over the limit");
    case head_scan::event::too_many_fields:
      return refusal(431, "more fields than the limit");
    case head_scan::event::empty_lines:
      return refusal(400, "too many empty lines before a request");
    default:
      return refusal(400, "a control octet, or a CR or LF that is not part of CRLF");
  }
}

}  // namespace

parse_status request_parser::parse(std::string_view buffer, request_head& out) {
  bool have_line = false;  // parsed in this call, so that its views are good
  for (;;) {
    std::string_view line;
    const head_scan::event event = scan_.next(buffer, limits_, line);
    if (event == head_scan::event::need_more) return parse_status::need_more;
    if (event == head_scan::event::line) {
      if (scan_.lines() > 1) continue;
      error_ = parse_request_line(line, out);
      if (error_.status != 0) return parse_status::bad;
      have_line = true;
      continue;
    }
    if (event != head_scan::event::end) {
      error_ = scan_refusal(event);
      return parse_status::bad;
    }
    break;
  }
  consumed_ = scan_.consumed();
  const std::size_t begin = scan_.fields_begin();
  if (!have_line) {
    // The buffer may have moved since the line was accepted: take the views again.
    const std::size_t at = scan_.head_begin();
    error_ = parse_request_line(buffer.substr(at, begin - 2 - at), out);
    if (error_.status != 0) return parse_status::bad;
  }
  error_ = parse_fields(buffer.substr(begin, consumed_ - 2 - begin), scan_.lines() - 1, out);
  return error_.status == 0 ? parse_status::complete : parse_status::bad;
}

void request_parser::reset() noexcept {
  scan_.reset();
  consumed_ = 0;
  error_ = {};
}

}  // namespace penstock::net::http1
