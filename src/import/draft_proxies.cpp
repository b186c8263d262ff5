// Which proxies are trusted, and which API is behind.
#include <algorithm>
#include <set>

#include "base/ascii.hpp"
#include "config/grammar/upstream.hpp"
#include "import/draft.hpp"
#include "import/nginx_values.hpp"

namespace penstock::import {
namespace {

void set_address_header(const level& rules, policy_draft& draft) {
  const std::string& header = rules.address_header;
  const place& at = rules.address_header_at.line > 0 ? rules.address_header_at : rules.trusted_at;
  const auto differ = [&](std::string why) {
    draft.client_remarks.push_back(
        {remark_kind::differs, at, "real_ip_header " + shown(header), std::move(why)});
  };
  if (ascii::iequals(header, "X-Real-IP")) {
    draft.address_from = "x-real-ip";
  } else if (ascii::iequals(header, "proxy_protocol")) {
    draft.address_from = "proxy-protocol";
  } else {
    draft.address_from = "x-forwarded-for";
    if (!ascii::iequals(header, "X-Forwarded-For")) {
      differ("Penstock does not read " + shown(header) +
             "; proxies that send it usually send X-Forwarded-For too");
    }
    if (!rules.recursive) {
      differ(
          "real_ip_recursive is off: nginx takes the last address even when it is a trusted proxy, "
          "Penstock goes on to the one before");
    }
  }
}

// "http://name/path" in its parts.
struct proxy_url {
  std::string scheme;  // "http://"
  std::string host;    // host[:port], unix:/path, or the name of an upstream block
  std::string path;    // what nginx puts in place of the location's path; empty: nothing
};

std::optional<proxy_url> read_url(std::string_view url) {
  proxy_url out;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (url.starts_with(scheme)) out.scheme = scheme;
  }
  if (out.scheme.empty()) return std::nullopt;
  url.remove_prefix(out.scheme.size());
  const bool socket = url.starts_with("unix:");
  const auto end = std::min(url.find(socket ? ':' : '/', socket ? 5 : 0), url.size());
  out.host = url.substr(0, end);
  out.path = url.substr(socket ? std::min(end + 1, url.size()) : end);
  return out;
}

struct found_target {
  const target* to;
  const location* from;
};

void collect(const std::vector<location>& from, std::vector<found_target>& to) {
  for (const auto& l : from) {
    if (!l.to.directive.empty() && !l.internal) to.push_back({&l.to, &l});
    collect(l.nested, to);
  }
}

class upstream_drafter {
 public:
  upstream_drafter(const nginx_model& model, policy_draft& draft) : model_(model), draft_(draft) {}

  void run() {
    std::vector<found_target> all;
    for (const auto& s : model_.servers) {
      if (!passes_on(s)) continue;
      for (const auto& listen : s.listens)
        if (std::find(draft_.listens.begin(), draft_.listens.end(), listen) == draft_.listens.end())
          draft_.listens.push_back(listen);
      collect(s.locations, all);
    }
    // What `location /` passes to is the API; without one, the first.
    std::stable_partition(all.begin(), all.end(),
                          [](const found_target& t) { return t.from->pattern == "/"; });
    const found_target* chosen = nullptr;
    std::set<std::string> said;
    for (const auto& t : all) {
      if (chosen == nullptr && use(t)) {
        chosen = &t;
      } else if (chosen != nullptr && same(*chosen, t)) {
        note_path(t);
      } else if (draft_.face_for == face::gateway &&
                 said.insert(t.to->directive + t.to->url).second) {
        leave_out(t, t.to->directive == "proxy_pass"
                         ? "the gateway has one API behind it; another one needs a gateway of its "
                           "own, or nginx "
                           "keeps serving (--decision)"
                         : "the gateway speaks HTTP only; let nginx keep serving (--decision)");
      }
    }
  }

 private:
  void leave_out(const found_target& t, std::string why) {
    draft_.left_out.push_back({remark_kind::left_out, t.to->at,
                               t.to->directive + " " + shown(t.to->url), std::move(why), true});
  }

  void differ(const found_target& t, std::string why) {
    draft_.gateway_remarks.push_back(
        {remark_kind::differs, t.to->at, t.to->directive + " " + shown(t.to->url), std::move(why)});
  }

  static bool same(const found_target& a, const found_target& b) {
    const auto x = read_url(a.to->url);
    const auto y = read_url(b.to->url);
    return a.to->directive == b.to->directive && x && y && x->scheme == y->scheme &&
           x->host == y->host;
  }

  // False: there is no such upstream for the gateway.
  bool use(const found_target& t) {
    const auto url = t.to->directive == "proxy_pass" ? read_url(t.to->url) : std::nullopt;
    if (!url) return false;
    std::vector<std::string> hosts{url->host};
    const auto group = model_.upstreams.find(url->host);
    if (group != model_.upstreams.end()) hosts = group->second.servers;
    std::vector<std::string> found;
    for (const auto& host : hosts) {
      auto text = host.starts_with("unix:") ? host : url->scheme + host;
      const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
        return c > ' ' && c <= '~' && c != '"' && c != '\\';
      });
      if (plain && config::parse_upstream(text)) found.push_back(std::move(text));
    }
    if (found.empty()) return false;
    draft_.upstreams = std::move(found);
    if (group != model_.upstreams.end() && !group->second.ignored.empty()) {
      std::string what;
      for (const auto& w : group->second.ignored) what += (what.empty() ? "" : ", ") + w;
      differ(t, "several upstreams take turns; this is not carried over: " + shown(what));
    }
    note_path(t);
    return true;
  }

  void note_path(const found_target& t) {
    const auto url = read_url(t.to->url);
    if (!url || url->path.empty() || url->path == t.from->pattern) return;
    differ(t, "nginx puts " + shown(url->path) + " in place of " + shown(t.from->pattern) +
                  "; the gateway forwards the path that came");
  }

  const nginx_model& model_;
  policy_draft& draft_;
};

}  // namespace

void draft_client(const nginx_model& model, policy_draft& draft) {
  // With nginx in front its own realip has done the work.
  if (draft.face_for == face::decision) return;
  const server* first = nullptr;
  for (const auto& s : model.servers) {
    if (!passes_on(s)) continue;
    if (first == nullptr) {
      first = &s;
    } else if (s.rules.trusted != first->rules.trusted ||
               s.rules.address_header != first->rules.address_header) {
      draft.client_remarks.push_back(
          {remark_kind::differs, s.at, "server",
           "its trusted proxies are others; one list holds for all servers here, "
           "that of the first"});
    }
  }
  if (first == nullptr || first->rules.trusted.empty()) return;
  for (const auto& text : first->rules.trusted) {
    if (auto range = parse_range(text)) {
      draft.trusted.push_back(*std::move(range));
    } else {
      draft.left_out.push_back({remark_kind::left_out, first->rules.trusted_at,
                                "set_real_ip_from " + shown(text),
                                "trusted proxies are addresses and CIDR ranges"});
    }
  }
  if (!draft.trusted.empty()) set_address_header(first->rules, draft);
}

void draft_upstream(const nginx_model& model, policy_draft& draft) {
  upstream_drafter(model, draft).run();
  if (draft.upstreams.empty()) draft.face_for = face::decision;
}

}  // namespace penstock::import
