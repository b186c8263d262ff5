#include "decision/auth/auth.hpp"

#include "base/text_writer.hpp"
#include "decision/conversation.hpp"

namespace penstock::decision {
namespace {

constexpr std::string_view json_type = "application/json";

// A proxy takes 500 and above for an outage of ours, which a refusal is not: what a limit itself
// answers with (429, or as configured) is repeated in X-RateLimit-Status.
int deny_status(const auth_parameters& wanted, int own) {
  if (wanted.deny_status != 0) return wanted.deny_status;
  return own < 500 ? own : 429;
}

// Proxies that pass on neither status nor content can make both anew from these.
void write_verdict(conversation& c, std::string_view verdict, int status) {
  text_writer out(c.lines);
  out.text("X-RateLimit-Verdict: ").text(verdict);
  out.text("\r\nX-RateLimit-Status: ").integer(status).text("\r\n");
}

void refuse_ambiguous(conversation& c, const char* reason) {
  c.content.assign("{\"error\":\"bad request\",\"reason\":\"").append(reason).append("\"}\n");
  c.lines.assign("Cache-Control: no-store\r\n");
  write_verdict(c, "deny", 400);
  c.answer(deny_status(c.auth, 400), json_type, c.content, c.lines);
}

// Not a refusal: the proxy's configuration is wrong, and it must show at its first request.
void refuse_misconfigured(conversation& c, const char* reason) {
  c.content.assign("penstock: ").append(reason).append("\n");
  c.answer(400, "text/plain; charset=utf-8", c.content, {});
}

void finish(conversation& c) {
  const auto& d = c.context.decision;
  c.lines.assign(d.headers);
  switch (d.what) {
    case policy::outcome::allow:
    case policy::outcome::delay:
    case policy::outcome::degraded_allow:
      write_verdict(c, "allow", 200);
      return c.answer(200, {}, {}, c.lines);
    case policy::outcome::deny:
      write_verdict(c, "deny", d.status);
      return c.answer(deny_status(c.auth, d.status), d.content_type, d.body, c.lines);
    case policy::outcome::degraded_deny:
      write_verdict(c, "unavailable", d.status);
      return c.answer(503, d.content_type, d.body, c.lines);
  }
}

void decided(conversation& c) {
  if (c.context.decision.what == policy::outcome::delay) {
    c.hold(c.context.decision.delay, &finish);
  } else {
    finish(c);
  }
}

}  // namespace

void begin_auth(conversation& c) {
  const auto& head = c.exchange->head();
  c.auth = {};
  // Not 401, which proxies hand to the client as a refusal: this is between them and us.
  if (!c.who.may_ask(head.fields)) {
    return refuse_misconfigured(c, "the check carries no valid token: set X-Penstock-Token");
  }
  // Behind a longer path the query is the client's.
  if (head.path.size() == auth_path.size()) {
    if (const char* wrong = parse_auth_parameters(head.query, c.auth)) {
      return refuse_misconfigured(c, wrong);
    }
  }
  const original_request original = find_original(head, c.auth.from, c.who.original);
  switch (original.what) {
    case original_request::state::misconfigured:
      return refuse_misconfigured(c, original.reason);
    case original_request::state::ambiguous:
      return refuse_ambiguous(c, original.reason);
    case original_request::state::known:
      break;
  }
  c.context.request = {.method = original.method,
                       .path = original.path,
                       .query = original.query,
                       .host = original.host,
                       .fields = head.fields,
                       .peer = address_of(c.exchange->peer()),
                       .vouched = c.who.peer,
                       .user = {},
                       .cost = -1,
                       .stated = {}};
  c.context.why = store::intent::take;
  if (c.ask(&decided)) decided(c);
}

}  // namespace penstock::decision
