#include "import/nginx_key.hpp"

#include <algorithm>
#include <array>

#include "config/grammar/key.hpp"
#include "config/grammar/token.hpp"
#include "import/nginx_cases.hpp"
#include "import/nginx_values.hpp"

namespace penstock::import {
namespace {

constexpr std::size_t most_optional = 3;  // parts that may be absent: 2^n alternatives
constexpr std::array<std::string_view, 8> usual_methods{"GET",    "HEAD",    "POST",  "PUT",
                                                        "DELETE", "OPTIONS", "PATCH", "TRACE"};

struct key_part {
  std::string text;
  bool optional = false;  // nginx's value may be empty
};

bool contains(const std::vector<std::string>& in, const std::string& what) {
  return std::find(in.begin(), in.end(), what) != in.end();
}

void add_once(std::vector<std::string>& to, std::string what) {
  if (!contains(to, what)) to.push_back(std::move(what));
}

// A key without map or geo: variables and literals in a row.
class plain_key {
 public:
  plain_key(imported_key& out, bool trusting) : out_(out), trusting_(trusting) {}

  // False: out.why_not says why there is no counterpart.
  bool read(const std::string& text) {
    for (const auto& p : pieces_of(text)) {
      if (!p.variable) {
        literal_ = true;
      } else if (!read_variable(p.text)) {
        return false;
      }
    }
    return true;
  }

  void write() {
    std::vector<key_part> optional;
    std::string always;
    for (const auto& p : parts_) {
      if (p.optional) optional.push_back(p);
      if (!p.optional) always += (always.empty() ? "" : " + ") + p.text;
    }
    if (optional.size() > most_optional) {
      out_.why_not = "the key has more than 3 parts that may be empty";
      return;
    }
    // The fullest first; in each, the parts in their order.
    std::vector<std::string> alternatives;
    for (std::size_t left = optional.size() + 1; left-- > 0;) {
      for (std::size_t set = 0; set < std::size_t{1} << optional.size(); ++set) {
        if (static_cast<std::size_t>(__builtin_popcountll(set)) != left) continue;
        std::string one = always;
        for (std::size_t i = 0; i < optional.size(); ++i)
          if ((set >> i & 1U) != 0) one += (one.empty() ? "" : " + ") + optional[i].text;
        if (!one.empty()) alternatives.push_back(std::move(one));
      }
    }
    out_.empty_without_name = alternatives.empty() && !literal_;
    if (alternatives.empty()) alternatives.emplace_back("global");
    out_.on_missing_key =
        on_missing(!optional.empty() && always.empty(), literal_ || counts_server_);
    out_.on_missing_without_name = on_missing(!optional.empty() && always.empty(), literal_);
    for (const auto& a : alternatives)
      out_.expression += (out_.expression.empty() ? "" : " | ") + a;
    out_.usable = true;
  }

  [[nodiscard]] const std::vector<key_part>& parts() const { return parts_; }

 private:
  [[nodiscard]] std::string on_missing(bool all_optional, bool never_empty) const {
    if (all_optional) return never_empty ? "shared" : "skip";
    return uses_host_ ? "shared" : "";
  }

  bool add(std::string text, bool optional) {
    const bool known =
        std::any_of(parts_.begin(), parts_.end(), [&](const auto& p) { return p.text == text; });
    if (!known) parts_.push_back({std::move(text), optional});
    return true;
  }

  bool read_variable(const std::string& name) {
    if (name == "binary_remote_addr" || name == "remote_addr") return add("address", false);
    if (name == "host" || name == "http_host") {
      uses_host_ = true;
      return add("host", false);
    }
    if (name == "server_name") {
      counts_server_ = out_.per_server = true;
      return true;
    }
    if (name == "request_method") return add("method", false);
    if (name == "uri" || name == "document_uri" || name == "request_uri") {
      add_once(out_.differs, "$" + name +
                                 " became route: the canonical path without its final slash" +
                                 (name == "request_uri" ? " and without the query" : ""));
      return add("route", false);
    }
    if (name == "scheme" || name == "https" || name == "server_port" || name == "server_addr" ||
        name == "server_protocol" || name == "hostname") {
      literal_ = true;
      add_once(out_.differs,
               "$" + name + " is not part of the key: its values count together here");
      return true;
    }
    if (name == "realip_remote_addr" && !trusting_) return add("address", false);
    if (name == "proxy_protocol_addr") {
      add_once(out_.differs,
               "$proxy_protocol_addr became address: say client.address_from: proxy-protocol");
      return add("address", false);
    }
    return read_field(name);
  }

  bool read_field(const std::string& name) {
    if (name == "http_x_forwarded_for") {
      add_once(out_.differs,
               "clients can write X-Forwarded-For themselves and get a new counter each time; key: "
               "address with client.trusted_proxies is what is usually meant");
    }
    if (const auto header = header_of(name); config::is_token(header))
      return add("header(" + header + ")", true);
    if (name.starts_with("arg_") && config::is_token(name.substr(4)))
      return add("query(" + name.substr(4) + ")", true);
    if (name.starts_with("cookie_") && config::is_token(name.substr(7)))
      return add("cookie(" + name.substr(7) + ")", true);
    out_.why_not = "$" + name + " has no counterpart among Penstock's keys";
    return false;
  }

  imported_key& out_;
  bool trusting_;
  std::vector<key_part> parts_;
  bool literal_ = false;
  bool uses_host_ = false;
  bool counts_server_ = false;
};

class key_importer {
 public:
  key_importer(const nginx_model& model, bool trusting) : model_(model), trusting_(trusting) {}

  imported_key run(const std::string& key) {
    const auto pieces = pieces_of(key);
    const bool made = std::any_of(pieces.begin(), pieces.end(), [&](const piece& p) {
      return p.variable && model_.variables.contains(p.text);
    });
    if (!made) {
      read_plain(key);
    } else if (pieces.size() > 1) {
      out_.why_not = "the key combines a variable made by map or geo with others";
    } else {
      read_cases(cases_of(model_, pieces[0].text));
    }
    check();
    return std::move(out_);
  }

 private:
  void read_plain(const std::string& key) {
    if (key.empty()) {
      out_.why_not = "the key is always empty: nginx never limits by it";
      return;
    }
    plain_key plain(out_, trusting_);
    if (plain.read(key)) plain.write();
  }

  void read_cases(const variable_cases& v) {
    if (!v.problem.empty()) {
      out_.why_not = v.problem;
    } else if (v.fallback.empty()) {
      read_only_some(v);
    } else {
      read_all_but(v);
    }
  }

  // default "": only what a case names is limited.
  void read_only_some(const variable_cases& v) {
    std::string key;
    for (const auto& c : v.cases) {
      if (c.value.empty()) continue;
      if (c.when.kind != condition_kind::method) {
        out_.why_not = "nginx limits only requests where " + c.when.text() +
                       ", which a limit's match cannot say";
        return;
      }
      if (!key.empty() && key != c.value) {
        out_.why_not = "different methods are counted by different keys";
        return;
      }
      key = c.value;
      if (const auto method = config::parse_method(c.when.value)) add_once(out_.methods, *method);
    }
    if (!key.empty() && out_.methods.empty()) {
      out_.why_not = "no request has the methods that it limits";
      return;
    }
    if (refers_to_block(key)) return;
    read_plain(key);
  }

  void read_all_but(const variable_cases& v) {
    if (refers_to_block(v.fallback)) return;
    std::vector<std::string> not_methods;
    std::string absent_key;
    for (const auto& c : v.cases) {
      if (c.value == v.fallback) continue;
      if (c.when.kind == condition_kind::absent && !c.value.empty() &&
          v.fallback.find(c.when.name) != std::string::npos) {
        absent_key = c.value;
      } else if (!c.value.empty()) {
        add_once(out_.differs, "where " + c.when.text() + " nginx counts by " + shown(c.value) +
                                   ", here by the same key as others");
      } else {
        read_unlimited(c.when, v, not_methods);
      }
    }
    if (!not_methods.empty()) {
      for (const auto m : usual_methods)
        if (!contains(not_methods, std::string(m))) out_.methods.emplace_back(m);
      add_once(out_.differs, "methods other than the usual eight are not limited here");
    }
    read_plain(v.fallback);
    if (!absent_key.empty()) add_alternative(absent_key);
  }

  // nginx does not limit requests of this condition.
  void read_unlimited(const condition& when, const variable_cases& v,
                      std::vector<std::string>& not_methods) {
    if (when.kind == condition_kind::method) {
      add_once(not_methods, when.value);
      return;
    }
    if (when.kind == condition_kind::header && !when.value.empty()) {
      out_.exempt_headers.emplace_back(when.name, when.value);
      return;
    }
    if (when.kind != condition_kind::address) {
      add_once(out_.differs,
               "nginx does not limit requests where " + when.text() + "; here they are limited");
      return;
    }
    for (const auto& other : v.cases) {
      const bool hole = other.when.kind == condition_kind::address && !other.value.empty() &&
                        other.when.value != when.value && lies_in(other.when.value, when.value);
      if (!hole) continue;
      add_once(out_.differs, "nginx does not limit " + when.value + " without " + other.when.value +
                                 " in it; here all of it is limited");
      return;
    }
    add_once(out_.exempt_addresses, when.value);
  }

  bool refers_to_block(const std::string& key) {
    for (const auto& p : pieces_of(key)) {
      if (!p.variable || !model_.variables.contains(p.text)) continue;
      out_.why_not = "$" + p.text + " is made by another map or geo inside the key";
      return true;
    }
    return false;
  }

  // The key of requests that lack the first one: "cookie(session) | address".
  void add_alternative(const std::string& key) {
    if (!out_.usable) return;
    const auto pieces = pieces_of(key);
    const bool plain = std::none_of(pieces.begin(), pieces.end(), [&](const piece& p) {
      return p.variable && model_.variables.contains(p.text);
    });
    const auto last = plain ? import_key(model_, key, trusting_) : imported_key{};
    if (!last.usable) {
      out_.differs.push_back("requests without it are not limited here; nginx counts them by " +
                             shown(key));
      return;
    }
    out_.expression += " | " + last.expression;
    out_.on_missing_key = last.on_missing_key;
    out_.on_missing_without_name = last.on_missing_without_name;
  }

  // The expression has to be one that the reader of policies takes.
  void check() {
    if (!out_.usable) return;
    if (const auto ok = config::parse_key(out_.expression); !ok) {
      out_.usable = false;
      out_.why_not = "the key has no counterpart: " + ok.error().message;
    }
  }

  const nginx_model& model_;
  bool trusting_;
  imported_key out_;
};

}  // namespace

imported_key import_key(const nginx_model& model, const std::string& key, bool trusting) {
  return key_importer(model, trusting).run(key);
}

}  // namespace penstock::import
