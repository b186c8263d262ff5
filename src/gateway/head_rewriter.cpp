#include "gateway/head_rewriter.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"
#include "net/http1_write.hpp"

namespace penstock::gateway {
namespace {

namespace http1 = net::http1;
using ascii::iequals;
using http1::append;
using http1::append_field;

bool istarts_with(std::string_view text, std::string_view prefix) noexcept {
  return text.size() >= prefix.size() && iequals(text.substr(0, prefix.size()), prefix);
}

// What happens to a request's field on its way to the upstream.
enum class request_class : std::uint8_t {
  pass,
  drop,           // hop-by-hop, framing, or rebuilt below whoever the peer is
  forwarded_for,  // rebuilt; kept as the beginning when the peer is trusted
  forwarded,      // the same, RFC 7239
  forwarding,     // other statements about the original request: only a trusted peer may make them
  proto,
  host_name
};

// Names that claim another client, host, scheme, method or path than the request itself has.
bool claims_another_request(std::string_view name) noexcept {
  if (istarts_with(name, "x-")) {
    const std::string_view rest = name.substr(2);
    return istarts_with(rest, "forwarded") || istarts_with(rest, "original-") ||
           istarts_with(rest, "rewrite-") || istarts_with(rest, "http-method") ||
           iequals(rest, "method-override") || iequals(rest, "client-ip") ||
           iequals(rest, "cluster-client-ip") || iequals(rest, "remote-ip") ||
           iequals(rest, "remote-addr") || iequals(rest, "host") ||
           iequals(rest, "envoy-external-address");
  }
  return iequals(name, "true-client-ip") || iequals(name, "cf-connecting-ip") ||
         iequals(name, "fastly-client-ip") || iequals(name, "client-ip");
}

request_class classify(std::string_view name) noexcept {
  switch (ascii::lower(name[0])) {
    case 'c':
      if (iequals(name, "connection") || iequals(name, "content-length"))
        return request_class::drop;
      break;
    case 'e':
      if (iequals(name, "expect")) return request_class::drop;
      break;
    case 'f':
      if (iequals(name, "forwarded")) return request_class::forwarded;
      break;
    case 'h':
      if (iequals(name, "host") || http1::hop_by_hop(name)) return request_class::drop;
      return request_class::pass;
    case 'k':
    case 'p':
    case 't':
    case 'u':
      if (http1::hop_by_hop(name)) return request_class::drop;
      break;
    case 'x':
      if (iequals(name, "x-real-ip")) return request_class::drop;
      if (iequals(name, "x-forwarded-for")) return request_class::forwarded_for;
      if (iequals(name, "x-forwarded-proto")) return request_class::proto;
      if (iequals(name, "x-forwarded-host")) return request_class::host_name;
      break;
    default:
      return request_class::pass;
  }
  return claims_another_request(name) ? request_class::forwarding : request_class::pass;
}

// Whether a Connection field names anything but the options that are handled anyway; looking every
// field up is worth it only then.
bool names_fields(field_list fields) noexcept {
  for (const field& f : fields) {
    if (f.name.size() == 10 && iequals(f.name, "connection") && !f.value.empty() &&
        !iequals(f.value, "keep-alive") && !iequals(f.value, "close") &&
        !iequals(f.value, "upgrade")) {
      return true;
    }
  }
  return false;
}

// An address as RFC 7239 writes it.
void append_node(std::string& out, std::string_view address) {
  const bool v6 = address.find(':') != std::string_view::npos;
  append(out, v6 ? "\"[" : "");
  append(out, address);
  append(out, v6 ? "]\"" : "");
}

// All values of one field name in order, joined with commas, and the separator for one more.
void append_joined(std::string& out, field_list fields, std::string_view name) {
  for (const field& f : fields) {
    if (f.value.empty() || !iequals(f.name, name)) continue;
    append(out, f.value);
    append(out, ", ");
  }
}

void append_forwarding(const http1::request_head& head, const request_facts& facts,
                       std::string& out) {
  bool proto_known = false;
  bool host_known = false;
  bool forwarded_known = false;
  if (facts.peer_trusted) {
    for (const field& f : head.fields) {
      const auto what = classify(f.name);
      proto_known = proto_known || what == request_class::proto;
      host_known = host_known || what == request_class::host_name;
      forwarded_known = forwarded_known || what == request_class::forwarded;
    }
  }
  append(out, "X-Forwarded-For: ");
  if (facts.peer_trusted) append_joined(out, head.fields, "x-forwarded-for");
  append(out, facts.peer);
  append(out, http1::crlf);
  const std::string_view scheme = facts.scheme == client_scheme::https ? "https" : "http";
  if (!proto_known) append_field(out, "X-Forwarded-Proto", scheme);
  if (!host_known) append_field(out, "X-Forwarded-Host", facts.authority);
  append_field(out, "X-Real-IP", facts.client);
  if (forwarded_known) {
    append(out, "Forwarded: ");
    append_joined(out, head.fields, "forwarded");
    append(out, "for=");
    append_node(out, facts.peer);
    append(out, ";proto=");
    append(out, scheme);
    append(out, http1::crlf);
  }
}

bool passes(request_class what, const request_facts& facts) noexcept {
  switch (what) {
    case request_class::pass:
      return true;
    case request_class::forwarding:
    case request_class::proto:
    case request_class::host_name:
      return facts.peer_trusted;
    default:
      return false;
  }
}

bool is_untrusted(std::string_view name, const request_facts& facts) noexcept {
  return !facts.peer_trusted && std::ranges::any_of(facts.untrusted_fields, [name](const auto& f) {
    return iequals(f, name);
  });
}

// A method whose meaning includes content says so even when there is none (RFC 9110 8.6).
bool expects_content(std::string_view method) noexcept {
  return method == "POST" || method == "PUT" || method == "PATCH";
}

void append_request_framing(const http1::request_head& head, std::string& out) {
  switch (head.body) {
    case http1::framing::chunked:
      append(out, "Transfer-Encoding: chunked\r\n");
      break;
    case http1::framing::content_length:
      append_field(out, "Content-Length", head.content_length);
      break;
    default:
      if (expects_content(head.method)) append(out, "Content-Length: 0\r\n");
  }
}

// The names of the lines in `decision_fields`. More than the array holds are not looked up; then a
// field of the upstream with such a name is kept beside ours.
struct own_names {
  explicit own_names(std::string_view lines) noexcept {
    while (!lines.empty() && count < names.size()) {
      names[count++] = lines.substr(0, lines.find(':'));
      const auto end = lines.find('\n');
      if (end == std::string_view::npos) break;
      lines.remove_prefix(end + 1);
    }
  }
  // Retry-After of the upstream speaks of the upstream and stays.
  [[nodiscard]] bool replaces(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < count; ++i) {
      if (iequals(names[i], name)) return !iequals(name, "retry-after");
    }
    return false;
  }
  std::array<std::string_view, 16> names;
  std::size_t count = 0;
};

void append_response_framing(const response_facts& facts, std::string& out) {
  switch (facts.framing) {
    case body_framing::length:
    case body_framing::length_no_body:
      append_field(out, "Content-Length", facts.length);
      break;
    case body_framing::chunked:
      append(out, "Transfer-Encoding: chunked\r\n");
      break;
    case body_framing::none:
    case body_framing::until_close:
      break;
  }
}

void append_connection(int client_minor, bool close, std::string& out) {
  if (close) {
    append(out, "Connection: close\r\n");
  } else if (client_minor == 0) {
    append(out, "Connection: keep-alive\r\n");
  }
}

bool passes_to_client(std::string_view name, field_list fields, bool named) noexcept {
  if (http1::hop_by_hop(name) || iequals(name, "content-length")) return false;
  return !named || !http1::named_in_connection(fields, name);
}

}  // namespace

void append_upstream_request(const http1::request_head& head, const request_facts& facts,
                             std::string& out) {
  append(out, head.method);
  append(out, " ");
  append(out, head.form == http1::target_form::asterisk ? "*" : facts.path);
  if (head.has_query) {
    append(out, "?");
    append(out, head.query);
  }
  append(out, " HTTP/1.1\r\n");
  append_field(out, "Host", facts.authority);
  const bool named = names_fields(head.fields);
  for (const field& f : head.fields) {
    if (!passes(classify(f.name), facts) || http1::has_underscore(f.name) ||
        is_untrusted(f.name, facts) || (named && http1::named_in_connection(head.fields, f.name))) {
      continue;
    }
    append_field(out, f.name, f.value);
  }
  append_forwarding(head, facts, out);
  append(out, "Via: 1.");
  append(out, head.version_minor == 0 ? "0 " : "1 ");
  append(out, facts.via);
  append(out, http1::crlf);
  if (facts.upgrade) {
    append(out, "Connection: upgrade\r\nUpgrade: ");
    bool first = true;
    for (const field& f : head.fields) {
      if (!iequals(f.name, "upgrade") || f.value.empty()) continue;
      if (!first) append(out, ", ");
      append(out, f.value);
      first = false;
    }
    append(out, http1::crlf);
  }
  if (facts.expect_continue) append(out, "Expect: 100-continue\r\n");
  append_request_framing(head, out);
  http1::append_head_end(out);
}

void append_client_response(const http1::response_head& head, const response_facts& facts,
                            std::string& out) {
  http1::append_status_line(out, head.status, head.reason);
  const bool named = names_fields(head.fields);
  const own_names own(facts.decision_fields);
  bool dated = false;
  for (const field& f : head.fields) {
    if (!passes_to_client(f.name, head.fields, named) || own.replaces(f.name)) continue;
    dated = dated || iequals(f.name, "date");
    append_field(out, f.name, f.value);
  }
  if (!dated) append_field(out, "Date", facts.date);
  append(out, facts.decision_fields);
  if (facts.upgrade) {
    append(out, "Connection: upgrade\r\n");
    for (const field& f : head.fields) {
      if (iequals(f.name, "upgrade")) append_field(out, "Upgrade", f.value);
    }
  } else {
    append_response_framing(facts, out);
    append_connection(facts.client_minor, facts.close, out);
  }
  http1::append_head_end(out);
}

void append_interim_response(const http1::response_head& head, std::string& out) {
  http1::append_status_line(out, head.status, head.reason);
  const bool named = names_fields(head.fields);
  for (const field& f : head.fields) {
    if (passes_to_client(f.name, head.fields, named)) append_field(out, f.name, f.value);
  }
  http1::append_head_end(out);
}

void append_local_answer(const local_answer& answer, std::string& out) {
  http1::append_status_line(out, answer.status);
  append_field(out, "Date", answer.date);
  append(out, answer.fields);
  if (!answer.content_type.empty()) append_field(out, "Content-Type", answer.content_type);
  append_field(out, "Content-Length", answer.body.size());
  append_connection(answer.client_minor, answer.close, out);
  http1::append_head_end(out);
  if (!answer.head_request) append(out, answer.body);
}

bool upgrade_allowed(const http1::request_head& head) noexcept {
  if (!head.upgrade || head.body != http1::framing::none || head.version_minor == 0) return false;
  bool asks = false;
  for (const field& f : head.fields) {
    if (!iequals(f.name, "upgrade")) continue;
    std::string_view rest = f.value;
    while (!rest.empty()) {
      const std::string_view member = ascii::trim(ascii::take_until(rest, ','));
      if (istarts_with(member, "h2") || istarts_with(member, "http/") ||
          istarts_with(member, "tls/")) {
        return false;
      }
      asks = asks || !member.empty();
    }
  }
  return asks;
}

}  // namespace penstock::gateway
