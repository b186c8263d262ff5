#include "decision/auth/original.hpp"

#include <algorithm>
#include <charconv>

#include "base/ascii.hpp"
#include "net/http1_target.hpp"

namespace penstock::decision {
namespace {

using state = original_request::state;

struct family {
  std::string_view method, uri, url, host;
};
constexpr family x_original{"x-original-method", "x-original-uri", "x-original-url",
                            "x-original-host"};
constexpr family x_forwarded{"x-forwarded-method", "x-forwarded-uri", {}, "x-forwarded-host"};

struct value {
  std::string_view text;  // empty: absent
  bool seen = false;
  bool repeated = false;

  void take_if(const field& f, std::string_view name) {
    if (f.name.size() != name.size() || !ascii::iequals(f.name, name)) return;
    repeated = repeated || seen;
    seen = true;
    text = f.value;
  }
};

// One family's fields.
struct told {
  told(field_list fields, const family& names) {
    value url;
    for (const field& f : fields) {
      if (f.name.empty() || ascii::lower(f.name.front()) != 'x') continue;
      method.take_if(f, names.method);
      uri.take_if(f, names.uri);
      url.take_if(f, names.url);
      host.take_if(f, names.host);
    }
    if (uri.text.empty()) uri = url;
    repeated = method.repeated || uri.repeated || host.repeated;
  }
  [[nodiscard]] bool present() const { return !uri.text.empty(); }

  value method, uri, host;
  bool repeated = false;
};

original_request not_known(state what, const char* reason) {
  original_request r;
  r.what = what;
  r.reason = reason;
  return r;
}

bool is_method(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), ascii::is_token);
}

original_request read(const told& t, const net::http1::request_head& check) {
  if (t.repeated) return not_known(state::ambiguous, "a field of the original request repeats");
  original_request r;
  // A proxy that names no method asks with the original one, but HEAD only means: no body please.
  r.method = !t.method.text.empty()   ? t.method.text
             : check.method == "HEAD" ? std::string_view("GET")
                                      : check.method;
  if (!is_method(r.method)) return not_known(state::ambiguous, "the original method is no method");
  net::http1::request_head target;
  if (const char* wrong = net::http1::parse_target(r.method, t.uri.text, target)) {
    return not_known(state::ambiguous, wrong);
  }
  r.path = target.form == net::http1::target_form::asterisk ? std::string_view("*") : target.path;
  r.query = target.query;
  r.host = !t.host.text.empty()        ? t.host.text
           : !target.authority.empty() ? target.authority
                                       : check.authority;
  return r;
}

}  // namespace

const char* parse_auth_parameters(std::string_view query, auth_parameters& out) {
  out = {};
  while (!query.empty()) {
    std::string_view value = ascii::take_until(query, '&');
    const std::string_view name = ascii::take_until(value, '=');
    if (name == "deny") {
      const char* const end = value.data() + value.size();
      const auto [stop, failed] = std::from_chars(value.data(), end, out.deny_status);
      if (failed != std::errc{} || stop != end || out.deny_status < 400 || out.deny_status > 499) {
        return "deny: is a status from 400 to 499";
      }
    } else if (name == "original") {
      if (value != "x-original" && value != "x-forwarded") {
        return "original: is x-original or x-forwarded";
      }
      out.from = value == "x-original" ? original_source::x_original : original_source::x_forwarded;
    } else {
      return "the parameters of /v1/auth are deny and original";
    }
  }
  return nullptr;
}

original_request find_original(const net::http1::request_head& check, original_source from,
                               bool believed) {
  if (check.path.size() > auth_path.size()) {
    original_request r;
    r.method = check.method;
    r.path = check.path.substr(auth_path.size());
    r.query = check.query;
    r.host = check.authority;
    return r;
  }
  if (!believed) {
    return not_known(state::misconfigured,
                     "this listener believes nobody about the original request: listen on "
                     "127.0.0.1 or a unix socket, or set decision.believe_original");
  }
  const told original(check.fields, x_original);
  const told forwarded(check.fields, x_forwarded);
  const bool from_original =
      from == original_source::x_original || (from == original_source::any && original.present());
  const told& one = from_original ? original : forwarded;
  if (!one.present()) {
    return not_known(state::misconfigured,
                     "the check names no original request: set X-Original-URI and "
                     "X-Original-Method, or X-Forwarded-Uri and X-Forwarded-Method");
  }
  if (from == original_source::any && from_original && forwarded.present() &&
      (forwarded.uri.text != original.uri.text ||
       (!forwarded.method.text.empty() && forwarded.method.text != original.method.text))) {
    return not_known(state::ambiguous, "X-Original-* and X-Forwarded-* name different requests");
  }
  return read(one, check);
}

}  // namespace penstock::decision
