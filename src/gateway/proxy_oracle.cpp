#include "gateway/proxy_oracle.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <vector>

#include <arpa/inet.h>

#include "base/ascii.hpp"
#include "gateway/head_rewriter.hpp"
#include "gateway/proxy_rig.hpp"
#include "net/http1_reference.hpp"
#include "net/http1_target.hpp"
#include "net/http1_test_support.hpp"
#include "policy/request_values.hpp"

namespace penstock::gateway::testing {
namespace {

namespace http1 = net::http1;
using http1::testing::reference_decoder;
using http1::testing::verdict;

struct delivery {
  std::string_view octets;
  std::size_t piece = 1;
  bool ends = false;  // the sender closes its half, or the connection
};

delivery take(std::string_view input) {
  if (input.size() < 2) return {};
  const auto options = static_cast<unsigned char>(input.back());
  const auto size = static_cast<unsigned char>(input[input.size() - 2]);
  input.remove_suffix(2);
  return {.octets = input,
          .piece = size == 255 ? input.size() + 1 : size + 1U,
          .ends = (options & 1U) != 0};
}

// --- a strict reader of what the gateway writes: nothing that one could read in two ways

struct strict_request {
  std::string method, target, body;
  std::string raw_head;
  bool complete = false;
};

struct strict_reading {
  std::vector<strict_request> requests;
  std::string wrong;  // empty: every octet was understood
};

bool visible(std::string_view s) {
  return !s.empty() && std::ranges::all_of(s, [](char c) { return c > ' ' && c < 0x7f; });
}

// The value of the one field of that name; nothing when there is none; `twice` when there are more.
std::optional<std::string> only_field(std::string_view head, std::string_view name, bool& twice) {
  std::optional<std::string> found;
  std::size_t at = head.find("\r\n") + 2;
  while (at < head.size()) {
    const auto end = head.find("\r\n", at);
    const std::string_view line = head.substr(at, end - at);
    const auto colon = line.find(": ");
    if (colon != std::string_view::npos && ascii::iequals(line.substr(0, colon), name)) {
      twice = twice || found.has_value();
      found = std::string(line.substr(colon + 2));
    }
    at = end + 2;
  }
  return found;
}

std::string head_is_wrong(std::string_view head) {
  std::size_t at = head.find("\r\n") + 2;
  while (at < head.size()) {
    const auto end = head.find("\r\n", at);
    const std::string_view line = head.substr(at, end - at);
    const auto colon = line.find(": ");
    if (colon == std::string_view::npos && !line.ends_with(':')) return "line without a colon";
    const auto name = line.substr(0, line.find(':'));
    if (!visible(name) || name.find_first_of("\"(),/;<=>?@[\\]{}_") != std::string_view::npos) {
      return "field name";
    }
    if (std::ranges::any_of(line, [](char c) {
          return (static_cast<unsigned char>(c) < ' ' && c != '\t') || c == 0x7f;
        })) {
      return "control octet in a field";
    }
    at = end + 2;
  }
  return {};
}

// One request off the front of `in`. False: there is no more, or it is wrong.
bool read_one(std::string_view& in, strict_reading& out) {
  const auto end = in.find("\r\n\r\n");
  if (end == std::string_view::npos) {
    if (!in.empty()) out.wrong = "a head that does not end";
    return false;
  }
  const std::string_view head = in.substr(0, end + 2);
  in.remove_prefix(end + 4);
  strict_request r;
  r.raw_head = std::string(head);
  const std::string_view line = head.substr(0, head.find("\r\n"));
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == last || line.substr(last) != " HTTP/1.1") {
    out.wrong = "request line";
    return false;
  }
  r.method = line.substr(0, first);
  r.target = line.substr(first + 1, last - first - 1);
  if (!visible(r.method) || !visible(r.target)) out.wrong = "octets of the request line";
  if (auto wrong = head_is_wrong(head); !wrong.empty()) out.wrong = wrong;
  bool twice = false;
  const auto host = only_field(head, "host", twice);
  const auto length = only_field(head, "content-length", twice);
  const auto coding = only_field(head, "transfer-encoding", twice);
  if (!host || twice || (length && coding)) out.wrong = "host or framing fields";
  if (coding && *coding != "chunked") out.wrong = "coding";
  if (!out.wrong.empty()) return false;
  if (length) {
    std::uint64_t size = 0;
    const auto [at, failed] =
        std::from_chars(length->data(), length->data() + length->size(), size);
    if (failed != std::errc{} || at != length->data() + length->size()) {
      out.wrong = "content length";
      return false;
    }
    r.complete = in.size() >= size;
    r.body = in.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(size, in.size())));
    in.remove_prefix(r.body.size());
  } else if (coding) {
    reference_decoder decoder(in);
    const auto got = decoder.run();
    if (got == verdict::bad) {
      out.wrong = "chunked coding";
      return false;
    }
    r.complete = got == verdict::done;
    r.body = decoder.data;
    in.remove_prefix(r.complete ? decoder.at : in.size());
  } else {
    r.complete = true;
  }
  out.requests.push_back(std::move(r));
  return true;
}

strict_reading read_strictly(std::string_view in) {
  strict_reading out;
  while (read_one(in, out)) {
    if (!out.requests.back().complete && !in.empty()) out.wrong = "octets behind a cut body";
  }
  return out;
}

std::string answer_to(const strict_request& r, std::size_t number) {
  const std::string body = "answer " + std::to_string(number);
  std::string out =
      "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  if (r.method != "HEAD") out += body;
  return out;
}

// What the client's octets mean, in one piece, by the sans-I/O machines; those have oracles of
// their own.
http1::testing::transcript meaning_of(std::string_view octets) {
  return http1::testing::deliver(http1::testing::request_side(http1::limits{}), octets,
                                 std::max<std::size_t>(octets.size(), 1));
}

std::string target_of(const http1::testing::owned_head& head) {
  const std::string path = head.start[1] == "asterisk" ? "*" : head.start[2];
  return path + head.start[3];
}

// Final answers that `received` holds, of requests with these methods in turn.
struct answers {
  std::size_t whole = 0;
  std::vector<std::string> bodies;
  std::vector<int> statuses;
  std::string rest;
  bool wrong = false;
};

answers read_answers(std::string received, const std::vector<std::string>& methods, bool ended) {
  answers out;
  for (std::size_t i = 0; !received.empty(); ++i) {
    const std::string method = i < methods.size() ? methods[i] : "GET";
    http1::testing::response_side side(method);
    side.feed(received);
    const auto t = side.finish();
    out.wrong = t.refused != 0;
    const bool complete = !t.messages.empty() && t.messages.back().head.start[0][0] != '1' &&
                          (t.messages.back().complete ||
                           (ended && t.messages.back().head.body == http1::framing::until_close));
    if (!complete) {
      out.rest = received;
      return out;
    }
    ++out.whole;
    out.bodies.push_back(t.messages.back().body);
    out.statuses.push_back(std::stoi(t.messages.back().head.start[0]));
    received = t.unread;
  }
  return out;
}

proxy_rig& rig() {
  static proxy_rig one;
  one.clear();
  return one;
}

}  // namespace

std::string check_client(std::string_view input) {
  const delivery d = take(input);
  auto& r = rig();
  std::size_t answered = 0;
  r.on_upstream = [&](upstream_end& u) {
    const auto seen = read_strictly(u.received);
    for (; u.answered < seen.requests.size() && seen.requests[u.answered].complete; ++u.answered) {
      r.upstream_sends(u, answer_to(seen.requests[u.answered], answered++));
    }
    // A gateway that gives up its half gets the other.
    if (u.ended) r.upstream_closes(u);
  };
  r.open_client();
  for (std::size_t at = 0; at < d.octets.size(); at += d.piece) {
    r.client_sends(d.octets.substr(at, d.piece));
    r.settle();
  }
  if (d.ends) r.client_ends();
  r.settle();

  const auto meant = meaning_of(d.octets);
  std::vector<strict_request> seen;
  std::size_t cut = 0;
  for (const auto& u : r.upstreams) {
    auto one = read_strictly(u->received);
    if (!one.wrong.empty()) return "upstream: " + one.wrong + ": " + u->received;
    for (auto& request : one.requests) {
      if (!request.complete) {
        ++cut;
      } else {
        seen.push_back(std::move(request));
      }
    }
  }
  if (cut > 1) return "more than one request was cut";
  // One whose body turned out to be broken may have been given up before it was sent.
  const std::size_t given_up = meant.messages.size() > meant.complete() ? 1 : 0;
  const auto forwarded = r.counters().forwarded.get();
  if (seen.size() + cut > forwarded || forwarded > seen.size() + cut + given_up) {
    return "counted other requests";
  }
  if (r.decider.decided > meant.messages.size()) return "decided about requests that are none";
  if (seen.size() > meant.complete()) return "more requests went on than came";
  std::vector<std::string> methods;
  for (std::size_t i = 0; i < seen.size(); ++i) {
    const auto& m = meant.messages[i];
    if (seen[i].method != m.head.start[0]) return "another method";
    if (seen[i].target != target_of(m.head)) return "another target";
    if (seen[i].body != m.body) return "another body";
    methods.push_back(seen[i].method);
  }
  for (std::size_t i = seen.size(); i < meant.messages.size(); ++i) {
    methods.push_back(meant.messages[i].head.start[0]);
  }
  const auto got = read_answers(r.client_received, methods, r.client_ended);
  if (got.wrong) return "an answer does not parse";
  if (!got.rest.empty() && !r.client_ended) return "half an answer, and the connection stays";
  if (got.whole < seen.size() && !r.client_ended) return "a request was not answered";
  for (std::size_t i = 0; i < std::min(seen.size(), got.whole); ++i) {
    if (got.statuses[i] != 200) return "another status";
    if (methods[i] != "HEAD" && got.bodies[i] != "answer " + std::to_string(i)) {
      return "the answer to another request";
    }
  }
  // Every complete request was sent on or refused, and a refusal ends the connection.
  if (seen.size() < meant.complete() && !r.client_ended) return "a request went nowhere";
  if (meant.refused != 0 && !r.client_ended && !r.client_received.ends_with("\n")) {
    return "what is malformed was not refused";
  }
  return {};
}

std::string check_upstream(std::string_view input) {
  const delivery d = take(input);
  auto& r = rig();
  // Nobody knows it when writing the first answer.
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : input) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  const std::string nonce = "second-" + std::to_string(hash);
  bool first_given = false;
  r.on_upstream = [&](upstream_end& u) {
    const auto seen = read_strictly(u.received);
    for (; u.answered < seen.requests.size() && seen.requests[u.answered].complete; ++u.answered) {
      if (seen.requests[u.answered].target == "/one" && !first_given) {
        first_given = true;
        for (std::size_t at = 0; at < d.octets.size(); at += d.piece) {
          r.upstream_sends(u, d.octets.substr(at, d.piece));
        }
        if (d.ends) r.upstream_closes(u);
      } else if (seen.requests[u.answered].target == "/two") {
        r.upstream_sends(u, "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(nonce.size()) +
                                "\r\n\r\n" + nonce);
      }
    }
    if (u.ended) r.upstream_closes(u);
  };
  r.open_client();
  r.client_sends("GET /one HTTP/1.1\r\nHost: a\r\n\r\n");
  r.settle();
  const std::size_t first_size = r.client_received.size();
  const bool first_over = r.client_ended;
  r.client_sends("GET /two HTTP/1.1\r\nHost: a\r\n\r\n");
  r.settle();

  http1::testing::response_side side(
      "GET", {.request_line_max = 8U << 10U, .head_max = 60U << 10U, .fields_max = 100});
  side.feed(d.octets);
  const auto meant = side.finish();
  const bool said = !meant.messages.empty() && meant.messages.back().head.start[0][0] != '1';

  const auto got = read_answers(r.client_received, {"GET", "GET"}, r.client_ended);
  if (got.wrong) return "what the client gets does not parse";
  if (got.whole > 2) return "more answers than requests";
  if (got.whole >= 1 && said && got.statuses[0] == std::stoi(meant.messages.back().head.start[0]) &&
      meant.messages.back().complete && got.bodies[0] != meant.messages.back().body) {
    return "another body";
  }
  if (got.whole == 2 && (got.statuses[1] != 200 || got.bodies[1] != nonce)) {
    return "the second answer is not its own";
  }
  if (got.whole >= 1 && got.bodies[0] == nonce) return "the first answer is the second's";
  if (!first_over && first_size > 0 && got.whole == 0 && !r.client_ended && meant.refused != 0) {
    return "a broken answer leaves the client waiting";
  }
  return {};
}

std::string check_connection_fields(std::string_view input) {
  std::string octets = "POST /p HTTP/1.1\r\nHost: example.test\r\n";
  octets += input;
  octets += "\r\n\r\n";
  http1::request_parser parser({.request_line_max = 64, .head_max = 60U << 10U, .fields_max = 100});
  http1::request_head head;
  if (parser.parse(octets, head) != http1::parse_status::complete) return {};
  const bool upgrade = upgrade_allowed(head);
  const request_facts facts{.path = head.path,
                            .authority = head.authority,
                            .peer = "192.0.2.1",
                            .client = "192.0.2.1",
                            .peer_trusted = false,
                            .via = "penstock",
                            .upgrade = upgrade,
                            .expect_continue = head.expect_continue};
  std::string once;
  append_upstream_request(head, facts, once);
  const auto seen = read_strictly(once);
  if (!seen.wrong.empty() && seen.wrong != "a head that does not end") return seen.wrong;
  if (seen.requests.size() != 1) return "not one request";
  http1::request_parser again({.request_line_max = 64, .head_max = 1U << 20U, .fields_max = 200});
  http1::request_head next;
  if (again.parse(once, next) != http1::parse_status::complete) return "what is sent is refused";
  const bool none = head.body == http1::framing::none;
  if (none ? next.content_length != 0 : next.body != head.body) return "another framing";
  if (next.content_length != head.content_length) return "another length";
  if (next.expect_continue != head.expect_continue) return "another expectation";
  if (next.upgrade != upgrade) return "another upgrade";
  for (const field& f : next.fields) {
    const bool ours =
        upgrade && (ascii::iequals(f.name, "connection") || ascii::iequals(f.name, "upgrade"));
    if (!ours && http1::hop_by_hop(f.name) && !ascii::iequals(f.name, "transfer-encoding")) {
      return "a field that is between two neighbours went on";
    }
    // Those that we write ourselves stand whatever the client named.
    const bool rebuilt = ascii::iequals(f.name, "via") || ascii::iequals(f.name, "host") ||
                         ascii::iequals(f.name, "content-length") ||
                         ascii::iequals(f.name, "expect") || f.name.starts_with("X-") || ours ||
                         ascii::iequals(f.name, "transfer-encoding");
    if (!rebuilt && http1::named_in_connection(head.fields, f.name)) return "a named field went on";
  }
  std::string twice;
  append_upstream_request(next,
                          {.path = next.path,
                           .authority = next.authority,
                           .peer = "192.0.2.1",
                           .client = "192.0.2.1",
                           .peer_trusted = false,
                           .via = "penstock",
                           .upgrade = upgrade,
                           .expect_continue = next.expect_continue},
                          twice);
  // One hop more is in Via; and only there.
  const auto extra = twice.find("\r\nVia: 1.1 penstock\r\n");
  if (extra == std::string::npos) return "no Via";
  std::string rest = twice;
  rest.erase(extra, sizeof("\r\nVia: 1.1 penstock") - 1);
  std::vector<std::string> a, b;
  const auto lines = [](const std::string& text, std::vector<std::string>& out) {
    for (std::size_t at = 0; at < text.size();) {
      const auto end = text.find("\r\n", at);
      out.push_back(text.substr(at, end - at));
      at = end + 2;
    }
    std::ranges::sort(out);
  };
  lines(once, a);
  lines(rest, b);
  if (a != b) return "once more changes it further";
  return {};
}

namespace {

// The host as RFC 3986 6.2.2 and RFC 5952 would have it, by other means than ours.
std::string plain_host(std::string_view authority) {
  std::string host(authority);
  if (host.starts_with('[')) {
    host = host.substr(1, host.find(']') - 1);
    in6_addr octets{};
    if (::inet_pton(AF_INET6, host.c_str(), &octets) != 1) return "[" + host + "]";
    return std::string("6") + std::string(reinterpret_cast<const char*>(&octets), sizeof octets);
  }
  host = host.substr(0, host.find(':'));
  while (host.ends_with('.')) host.pop_back();
  for (char& c : host) c = ascii::lower(c);
  return host;
}

std::string key_of(std::string_view authority) {
  std::string out;
  policy::append_host(out, authority);
  return out;
}

}  // namespace

std::string check_authority(std::string_view input) {
  const auto end = std::min(input.find('\n'), input.size());
  const std::string_view one = input.substr(0, end);
  const std::string_view two = end < input.size() ? input.substr(end + 1) : std::string_view();
  if (!http1::is_authority(one)) return {};
  for (const bool absolute : {false, true}) {
    std::string octets = "GET ";
    if (absolute) octets.append("http://").append(one);
    octets.append("/ HTTP/1.1\r\nHost: ").append(one).append("\r\n\r\n");
    http1::request_parser parser(
        {.request_line_max = 1U << 20U, .head_max = 1U << 21U, .fields_max = 2});
    http1::request_head head;
    if (parser.parse(octets, head) != http1::parse_status::complete)
      return "an authority is refused";
    if (head.authority != one) return "another authority came out";
  }
  if (key_of(key_of(one)) != key_of(one)) return "the host of a host is another";
  if (!http1::is_authority(two)) return {};
  if ((key_of(one) == key_of(two)) != (plain_host(one) == plain_host(two))) {
    return "hosts that are the same count as two, or two as one";
  }
  return {};
}

}  // namespace penstock::gateway::testing
