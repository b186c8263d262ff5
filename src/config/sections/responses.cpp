// `responses:` and `paths:` what clients are told, and which paths are the same.
#include <algorithm>

#include "base/ascii.hpp"
#include "config/grammar/token.hpp"
#include "config/sections/sections.hpp"

namespace penstock::config {
namespace {

using policy::body_kind;
using policy::response_spec;
using policy::responses_spec;

constexpr std::size_t longest_text = 64 << 10;

constexpr word<body_kind> body_words[] = {
    {"json", body_kind::json}, {"problem", body_kind::problem}, {"text", body_kind::text}};

// A body may have lines.
void read_body_text(const value& v, std::string& out) {
  const auto* text = v.text("a text");
  if (text == nullptr) return;
  if (text->empty() || text->size() > longest_text) return v.fail("has to have 1 byte to 64 KiB");
  out = *text;
}

void read_content_type(const value& v, response_spec& r) {
  const auto* text = v.text("a media type");
  if (text == nullptr) return;
  const bool visible =
      std::all_of(text->begin(), text->end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (text->empty() || !visible)
    return v.fail("is not a media type", "for example text/html; charset=utf-8");
  r.content_type = *text;
}

bool is_language_tag(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
    return ascii::is_alnum(c) || c == '-';
  });
}

const field<response_spec> refusals[] = {
    {{"status", "whole number", "429", "Status of a refusal."},
     [](const value& v, response_spec& r) { read_integer(v, 400, 599, r.status); }},
    {{"body", "one of json, problem, text", "json",
      "Shape of a refusal's body. Clients that accept `application/problem+json` get that instead "
      "of json."},
     [](const value& v, response_spec& r) { read_word(v, body_words, r.body); }},
    {{"text", "text", "none",
      "The body for `body: text`, with `{limit}`, `{retry_after}` and `{name}` filled in."},
     [](const value& v, response_spec& r) {
       r.body = body_kind::text;
       read_body_text(v, r.text);
     }},
    {{"content_type", "media type", "text/plain; charset=utf-8", "Content-Type of `text`."},
     read_content_type},
    {{"languages", "map of texts", "none",
      "`text` by language tag, chosen by the client's Accept-Language."},
     [](const value& v, response_spec& r) {
       if (v.raw().what != node::type::map)
         return v.fail("expected a map of texts", "for example { de: \"…\", fr: \"…\" }");
       for (const auto& [tag, n] : v.raw().entries) {
         const auto item = v.child(n, tag.text);
         if (!is_language_tag(tag.text)) {
           v.child(tag, tag.text).fail("not a language tag", "for example en or pt-BR");
           continue;
         }
         read_body_text(item, r.languages[tag.text]);
       }
     }},
};

constexpr word<int> family_words[] = {{"ietf", 0}, {"x-ratelimit", 1}};

const field<policy::header_names> names_table[] = {
    {{"limit", "header name", "X-RateLimit-Limit", "Units per window."},
     [](const value& v, policy::header_names& n) {
       read_with(v, parse_header_name, "a header name", n.limit);
     }},
    {{"remaining", "header name", "X-RateLimit-Remaining", "Units left."},
     [](const value& v, policy::header_names& n) {
       read_with(v, parse_header_name, "a header name", n.remaining);
     }},
    {{"reset", "header name", "X-RateLimit-Reset",
      "When the quota is whole again, in Unix seconds."},
     [](const value& v, policy::header_names& n) {
       read_with(v, parse_header_name, "a header name", n.reset);
     }},
    {{"window", "header name", "X-RateLimit-Window", "Length of the window in seconds."},
     [](const value& v, policy::header_names& n) {
       read_with(v, parse_header_name, "a header name", n.window);
     }},
};

const field<responses_spec> table[] = {
    {{"headers", "list of ietf, x-ratelimit", "[ietf, x-ratelimit]",
      "Header families that are sent: `RateLimit`/`RateLimit-Policy`, and `X-RateLimit-*`. An "
      "empty list sends none."},
     [](const value& v, responses_spec& r) {
       if (v.raw().what == node::type::sequence) r.ietf = r.x_ratelimit = false;
       read_sequence(v, "a list of ietf, x-ratelimit", [&](const value& item) {
         int family = -1;
         read_word(item, family_words, family);
         if (family == 0) r.ietf = true;
         if (family == 1) r.x_ratelimit = true;
       });
     }},
    {{"names", "map", "none", "Other names for the X-RateLimit family."},
     [](const value& v, responses_spec& r) { read_map(v, names_table, r.names); }},
    {{"on_success", "true or false", "true", "Whether admitted requests get the headers too."},
     [](const value& v, responses_spec& r) { read_bool(v, r.on_success); }},
    {{"shadow_header", "true or false", "false",
      "Whether `X-RateLimit-Shadow` tells what a shadow limit would refuse."},
     [](const value& v, responses_spec& r) { read_bool(v, r.shadow_header); }},
};

constexpr word<bool> slash_words[] = {{"refuse", false}, {"keep", true}};
constexpr word<bool> case_words[] = {{"sensitive", false}, {"fold", true}};

const field<policy::paths_spec> paths_table[] = {
    {{"case", "one of sensitive, fold", "sensitive",
      "`fold`: paths that differ in case only are the same."},
     [](const value& v, policy::paths_spec& p) { read_word(v, case_words, p.fold_case); }},
    {{"encoded_slash", "one of refuse, keep", "refuse",
      "What happens to `%2F` and `%5C` in a path: 400, or kept as they are."},
     [](const value& v, policy::paths_spec& p) {
       read_word(v, slash_words, p.keep_encoded_slash);
     }},
};

}  // namespace

std::span<const field<response_spec>> refusal_table() {
  return refusals;
}

void read_responses(const value& v, config& out) {
  std::vector<bound_field> fields;
  bind(fields, std::span<const field<responses_spec>>(table), out.policy.responses);
  bind(fields, refusal_table(), out.policy.responses.refused);
  read_map(v, fields);
}

void read_paths(const value& v, config& out) {
  read_map(v, paths_table, out.policy.paths);
}

void describe_responses(std::vector<section_doc>& to) {
  auto fields = docs_of(table);
  for (const auto& f : docs_of(refusal_table())) fields.push_back(f);
  to.push_back({"responses", "What clients are told. A limit's own `response` wins.", fields});
  to.push_back({"responses.names", "", docs_of(names_table)});
  to.push_back({"paths", "Which paths are the same.", docs_of(paths_table)});
}

}  // namespace penstock::config
