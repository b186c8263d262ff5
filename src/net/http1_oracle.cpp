#include "net/http1_oracle.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <vector>

#include "net/http1_reference.hpp"
#include "net/http1_test_support.hpp"
#include "net/http1_write.hpp"

namespace penstock::net::http1::testing {

namespace {

struct delivery {
  std::string octets;
  std::size_t cut = 0;
  unsigned options = 0;
};

delivery take(std::string_view input) {
  delivery d;
  if (input.size() < 2) return d;
  d.options = static_cast<unsigned char>(input.back());
  const auto where = static_cast<unsigned char>(input[input.size() - 2]);
  d.octets = input.substr(0, input.size() - 2);
  d.cut = d.octets.size() * where / 256U;
  return d;
}

limits chosen_limits(unsigned options) {
  if ((options & 1U) == 0) return {};
  return {.request_line_max = 24, .head_max = 80, .fields_max = 3};
}

// For what we wrote ourselves: ": " may be longer than what came in.
constexpr limits wide = {
    .request_line_max = 1U << 24U, .head_max = 1U << 24U, .fields_max = 1U << 16U};

std::string lower(std::string_view s) {
  std::string out(s);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// An intermediary drops what Connection names; that must never be a framing or routing field.
bool keeps_framing(const owned_head& head) {
  std::vector<field> fields;
  for (const auto& [name, value] : head.fields) fields.push_back({.name = name, .value = value});
  return !named_in_connection(fields, "host") && !named_in_connection(fields, "content-length") &&
         !named_in_connection(fields, "transfer-encoding");
}

// The framing rules, told over the list of fields and nothing else.
std::string broken_rule(const owned_head& head, bool request) {
  std::size_t hosts = 0;
  std::size_t lengths = 0;
  std::size_t codings = 0;
  for (const auto& [name, value] : head.fields) {
    const std::string known = lower(name);
    hosts += known == "host" ? 1U : 0U;
    lengths += known == "content-length" ? 1U : 0U;
    codings += known == "transfer-encoding" ? 1U : 0U;
    if (name.find_first_of(" \t\r\n:\"(),/;<=>?@[\\]{}") != std::string::npos || name.empty()) {
      return "field name";
    }
    if (value.find_first_of(std::string_view("\0\r\n\x7f\x1b", 5)) != std::string::npos) {
      return "field value";
    }
    if (known == "content-length" &&
        std::to_string(head.content_length) !=
            value.substr(std::min(value.find_first_not_of('0'), value.size() - 1))) {
      return "content length";
    }
    if (known == "transfer-encoding" && lower(value) != "chunked") return "coding";
  }
  if (lengths + codings > 1 || (codings == 1 && head.version_minor == 0)) return "framing";
  if (!keeps_framing(head)) return "connection options";
  if (!request) return {};
  if (hosts > 1 || (hosts == 0 && head.version_minor == 1)) return "host";
  const framing want = codings == 1   ? framing::chunked
                       : lengths == 1 ? framing::content_length
                                      : framing::none;
  if (head.body != want) return "body";
  const auto no_graphic = [](char c) { return static_cast<unsigned char>(c - '!') > '~' - '!'; };
  for (const std::string& part : head.start) {
    if (std::ranges::any_of(part, no_graphic)) return "request line";
  }
  if ((head.start[2] + head.start[3] + head.start[4]).find('#') != std::string::npos)
    return "fragment";
  return {};
}

void append_fields(std::string& out, const owned_head& head) {
  for (const auto& [name, value] : head.fields) append_field(out, name, value);
  append_head_end(out);
}

std::string write_request(const owned_head& head) {
  const std::string& form = head.start[1];
  const std::string& path = head.start[2];
  const std::string& authority = head.start[4];
  std::string target = path + head.start[3];
  if (form == "absolute") target = "http://" + authority + target;
  if (form == "asterisk" && path == "/") target = "http://" + authority;
  std::string out;
  append_request_line(out, head.start[0], target);
  if (head.version_minor == 0) out[out.size() - 3] = '0';
  append_fields(out, head);
  return out;
}

std::string write_response(const owned_head& head) {
  std::string out;
  append_status_line(out, std::stoi(head.start[0]), head.start[1]);
  if (head.version_minor == 0) out[sizeof("HTTP/1.") - 1] = '0';
  append_fields(out, head);
  return out;
}

template <class Side>
std::string check_deliveries(const Side& side, const delivery& d, transcript& whole) {
  whole = deliver(side, d.octets, std::max<std::size_t>(d.octets.size(), 1));
  if (deliver(side, d.octets, 1) != whole) return "octet by octet differs";
  if (deliver(side, d.octets, 3) != whole) return "in threes differs";
  if (deliver_cut(side, d.octets, d.cut) != whole) return "cut differs";
  return {};
}

}  // namespace

std::string check_requests(std::string_view input) {
  const delivery d = take(input);
  transcript whole;
  const std::string differs = check_deliveries(request_side{chosen_limits(d.options)}, d, whole);
  if (!differs.empty()) return differs;
  for (const message& m : whole.messages) {
    if (const std::string rule = broken_rule(m.head, true); !rule.empty()) return "rule: " + rule;
    const transcript again = deliver(request_side{wide}, write_request(m.head), 1U << 30U);
    if (again.messages.size() != 1 || again.messages[0].head != m.head) return "round trip differs";
  }
  return {};
}

std::string check_response(std::string_view input) {
  const delivery d = take(input);
  const std::string method = (d.options & 2U) == 0 ? "GET" : "HEAD";
  transcript whole;
  const response_side side(method, chosen_limits(d.options));
  const std::string differs = check_deliveries(side, d, whole);
  if (!differs.empty()) return differs;
  if (whole.refused != 0 && whole.refused != 502) return "status of the refusal";
  for (const message& m : whole.messages) {
    if (const std::string rule = broken_rule(m.head, false); !rule.empty()) return "rule: " + rule;
    const transcript again =
        deliver(response_side(method, wide), write_response(m.head), 1U << 30U);
    if (again.messages.size() != 1 || again.messages[0].head != m.head) return "round trip differs";
  }
  return {};
}

namespace {

struct body_result {
  std::string data;
  std::size_t taken = 0;
  verdict end = verdict::more;
  bool operator==(const body_result&) const = default;
};

// Each piece lies in an allocation of its own, so that reading past it is seen.
body_result read_body(std::string_view octets, framing f, std::uint64_t length, std::size_t piece) {
  body_reader reader;
  reader.start(f, length);
  body_result r;
  r.end = reader.next({}).done ? verdict::done : verdict::more;
  while (r.end == verdict::more && r.taken < octets.size()) {
    const std::string in(octets.substr(r.taken, piece));
    std::size_t used = 0;
    while (r.end == verdict::more && used < in.size()) {
      const body_reader::step s = reader.next(std::string_view(in).substr(used));
      r.data += s.data;
      used += s.consumed;
      if (s.done) r.end = verdict::done;
      if (s.bad) r.end = verdict::bad;
      if (s.data.empty() && !s.done && !s.bad && used < in.size()) r.end = verdict::bad;
    }
    r.taken += used;
  }
  return r;
}

body_result reference_body(std::string_view octets) {
  reference_decoder reference(octets);
  body_result r;
  r.end = reference.run();
  r.data = reference.data;
  r.taken = reference.at;
  return r;
}

}  // namespace

std::string check_body(std::string_view input) {
  const delivery d = take(input);
  const std::size_t size = d.octets.size();
  const auto every_way = [&](framing f, std::uint64_t length, const body_result& want) {
    for (const std::size_t piece : {size + 1, std::size_t{1}, std::size_t{3}, d.cut + 1}) {
      body_result got = read_body(d.octets, f, length, piece);
      if (got.end == verdict::bad) got.taken = want.taken;  // of no meaning then
      if (got != want) return false;
    }
    return true;
  };
  if (!every_way(framing::chunked, 0, reference_body(d.octets))) return "chunked differs";

  const std::size_t part = std::min<std::size_t>(d.options, size);
  const verdict end = d.options <= size ? verdict::done : verdict::more;
  if (!every_way(framing::content_length, d.options, {d.octets.substr(0, part), part, end})) {
    return "content length differs";
  }
  if (!every_way(framing::until_close, 0, {d.octets, size, verdict::more})) return "close differs";

  std::string chunked;
  for (std::size_t at = 0; at < size; at += d.cut + 1) {
    const std::string_view run = std::string_view(d.octets).substr(at, d.cut + 1);
    append_chunk_size(chunked, run.size());
    append(chunked, run);
    append(chunked, crlf);
  }
  append(chunked, last_chunk);
  const body_result back = read_body(chunked, framing::chunked, 0, 7);
  if (back != body_result{d.octets, chunked.size(), verdict::done}) return "round trip differs";
  return {};
}

}  // namespace penstock::net::http1::testing
