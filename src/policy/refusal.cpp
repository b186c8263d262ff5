#include "policy/refusal.hpp"

#include <algorithm>

#include "base/ascii.hpp"
#include "policy/window.hpp"

namespace penstock::policy {

namespace {

constexpr std::string_view json_type = "application/json";
constexpr std::string_view problem_type = "application/problem+json";
constexpr std::string_view problem_uri = "https://iana.org/assignments/http-problem-types#";

// Limit names are [A-Za-z0-9._-] and reasons are ours, so nothing here needs an escape in JSON,
// HTML or text; compile() sees to the names.
void append_members(std::string& body, const refusal& what) {
  body.append("\"limit\":\"").append(what.limit).append("\"");
  if (what.retry_after) {
    body.append(",\"retry_after\":");
    append_field_integer(body, *what.retry_after);
  } else {
    body.append(",\"reason\":\"").append(what.reason).append("\"");
  }
}

void write_json(const refusal& what, decision& out) {
  out.content_type = json_type;
  out.body.append("{\"error\":\"rate limit exceeded\",");
  append_members(out.body, what);
  out.body.append("}\n");
}

void write_problem(const refusal& what, decision& out) {
  out.content_type = problem_type;
  out.body.append("{\"type\":\"").append(problem_uri).append("quota-exceeded\",");
  out.body.append("\"title\":\"Quota Exceeded\",\"status\":");
  append_field_integer(out.body, out.status);
  out.body.append(",\"violated-policies\":[");
  for (std::size_t i = 0; i < what.violated.size(); ++i) {
    out.body.append(i == 0 ? "\"" : ",\"").append(what.violated[i]).append("\"");
  }
  out.body.append("],");
  append_members(out.body, what);
  out.body.append("}\n");
}

// Placeholders are replaced, everything else stands as written, also braces.
void write_template(std::string_view text, const refusal& what, std::string& body) {
  while (!text.empty()) {
    const std::size_t brace = text.find('{');
    body.append(text.substr(0, brace));
    if (brace == std::string_view::npos) return;
    text.remove_prefix(brace);
    const std::string_view name = text.substr(0, text.find('}') + 1);
    if (name == "{limit}" || name == "{name}") {
      body.append(what.limit);
    } else if (name == "{retry_after}") {
      append_field_integer(body, what.retry_after.value_or(0));
    } else if (name == "{quota}") {
      append_field_integer(body, what.quota);
    } else {
      body.push_back('{');
      text.remove_prefix(1);
      continue;
    }
    text.remove_prefix(name.size());
  }
}

bool is_header_text(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

}  // namespace

result<responder> responder::create(const response_spec& spec) {
  if (spec.status < 400 || spec.status > 599) {
    return error{errc::invalid_config, "response.status: is 400 to 599"};
  }
  if (!is_header_text(spec.content_type)) {
    return error{errc::invalid_config, "response.content_type: is one line of visible ASCII"};
  }
  responder r;
  r.spec_ = spec;
  if (r.spec_.content_type.empty()) r.spec_.content_type = "text/plain; charset=utf-8";
  for (const auto& [tag, text] : spec.languages) {
    const bool valid = !tag.empty() && std::all_of(tag.begin(), tag.end(), [](char c) {
      return ascii::is_alnum(c) || c == '-';
    });
    if (!valid) return error{errc::invalid_config, "response.languages: '" + tag + "' is no tag"};
    r.languages_.emplace_back(tag, text);
  }
  return r;
}

void responder::write(field_list fields, const refusal& what, decision& out) const {
  out.status = spec_.status;
  if (spec_.body != body_kind::text) {
    const bool problem = spec_.body == body_kind::problem || prefers_problem_json(fields);
    return problem ? write_problem(what, out) : write_json(what, out);
  }
  out.content_type = spec_.content_type;
  std::string_view text = spec_.text;
  const language_text* chosen = choose_language(fields, languages_);
  if (chosen == nullptr && text.empty() && !languages_.empty()) chosen = &languages_.front();
  if (chosen != nullptr) {
    text = chosen->second;
    out.headers.append("Content-Language: ").append(chosen->first).append("\r\n");
  }
  write_template(text, what, out.body);
}

void write_bad_request(std::string_view reason, decision& out) {
  out.status = 400;
  out.content_type = json_type;
  out.body.append("{\"error\":\"bad request\",\"reason\":\"").append(reason).append("\"}\n");
}

void write_blocked(decision& out) {
  out.status = 403;
  out.content_type = json_type;
  out.headers.append("Cache-Control: no-store\r\n");
  out.body.append("{\"error\":\"forbidden\"}\n");
}

void write_unavailable(field_list fields, decision& out) {
  out.status = 503;
  out.headers.append("Retry-After: 1\r\nCache-Control: no-store\r\n");
  if (prefers_problem_json(fields)) {
    out.content_type = problem_type;
    out.body.append("{\"type\":\"").append(problem_uri);
    out.body.append("temporary-reduced-capacity\",\"title\":\"Temporary Reduced Capacity\",");
    out.body.append("\"status\":503,\"retry_after\":1}\n");
  } else {
    out.content_type = json_type;
    out.body.append("{\"error\":\"rate limiter unavailable\",\"retry_after\":1}\n");
  }
}

}  // namespace penstock::policy
