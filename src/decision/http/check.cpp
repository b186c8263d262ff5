#include "decision/http/check.hpp"

#include "base/ascii.hpp"
#include "decision/conversation.hpp"
#include "decision/http/check_answer.hpp"
#include "net/http1_target.hpp"
#include "net/json_writer.hpp"

namespace penstock::decision {
namespace {

constexpr std::string_view json_type = "application/json";
constexpr std::string_view no_store = "Cache-Control: no-store\r\n";

void answer_error(conversation& c, int status, std::string_view sentence) {
  c.content.clear();
  net::json_writer(c.content).begin_object().member("error", sentence).end_object();
  c.content += '\n';
  c.answer(status, json_type, c.content, no_store);
}

// A page of a foreign site can send such a request to this machine; a program has no Origin.
bool from_browser(field_list fields) {
  for (const field& f : fields) {
    if (ascii::iequals(f.name, "origin") || ascii::iequals(f.name, "sec-fetch-site")) return true;
  }
  return false;
}

void write_next(conversation& c, auto write) {
  if (c.checked > 0) c.content += ',';
  net::json_writer json(c.content);
  write(json);
  ++c.checked;
}

// True: the policy has the question. False: it is answered already.
bool put(conversation& c, const check_question& q) {
  net::http1::request_head target;
  if (const char* wrong = net::http1::parse_target(q.method, q.target, target)) {
    write_next(c, [&](net::json_writer& json) { write_check_bad_target(json, wrong); });
    return false;
  }
  c.context.request = {.method = q.method,
                       .path = target.path,
                       .query = target.query,
                       .host = q.host.empty() ? target.authority : std::string_view(q.host),
                       .fields = q.fields,
                       .peer = q.address.value_or(address_of(c.exchange->peer())),
                       .vouched = false,
                       .user = q.user,
                       .cost = q.cost,
                       .stated = q.stated};
  c.context.why = q.peek ? store::intent::peek : store::intent::take;
  return true;
}

void write_decided(conversation& c) {
  write_next(c, [&](net::json_writer& json) { write_check_answer(json, c.context); });
}

// One after the other: what an earlier check of a batch takes, a later one finds taken.
void go_on(conversation& c) {
  while (c.checked < c.checks.all.size()) {
    if (!put(c, c.checks.all[c.checked])) continue;
    if (!c.ask([](conversation& later) {
          write_decided(later);
          go_on(later);
        })) {
      return;
    }
    write_decided(c);
  }
  const bool undecided =
      !c.checks.batch && c.context.decision.what == policy::outcome::degraded_deny;
  c.content += c.checks.batch ? "]}\n" : "\n";
  c.answer(
      undecided ? 503 : 200, json_type, c.content,
      undecided ? std::string_view("Retry-After: 1\r\nCache-Control: no-store\r\n") : no_store);
}

}  // namespace

void begin_check(conversation& c) {
  if (!c.who.may_ask(c.exchange->head().fields)) {
    c.content.assign("{\"error\":\"the check carries no valid token\"}\n");
    return c.answer(401, json_type, c.content, "WWW-Authenticate: Bearer\r\n");
  }
  if (from_browser(c.exchange->head().fields)) {
    return answer_error(c, 403, "pages of a browser may not ask");
  }
  auto questions = read_check_questions(c.exchange->body());
  if (!questions) return answer_error(c, 400, questions.error().message);
  c.checks = *std::move(questions);
  c.checked = 0;
  c.context.decision.clear();
  c.content.assign(c.checks.batch ? "{\"results\":[" : "");
  go_on(c);
}

}  // namespace penstock::decision
